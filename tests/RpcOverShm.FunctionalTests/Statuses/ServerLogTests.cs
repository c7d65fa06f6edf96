using Microsoft.Extensions.Logging;

namespace RpcOverShm.FunctionalTests.Statuses;

/// <summary>The server's log entries for ended methods and their levels.</summary>
[EveryRig]
[NotOn(RigKind.GrpcCore, "It logs to one logger of the process, in other words.")]
internal sealed class ServerLogTests(RigKind kind) : ItemFixture(kind)
{
    [Test]
    [Item("S1")]
    public async Task RpcException_IsLoggedAsInformation()
    {
        CallRig rig = await UseAsync(Everywhere(_ => throw new RpcException(new Status(StatusCode.NotFound, "x"))));

        await FailuresOfEveryShapeAsync(rig);

        await Timeouts.Eventually(() => rig.Log.Of(MethodEndedWithStatus).Count == 5);
        Assert.That(
            rig.Log.Of(MethodEndedWithStatus).Select(entry => entry.Level), Is.All.EqualTo(LogLevel.Information));
        Assert.That(
            rig.Log.Of(MethodEndedWithStatus).Select(entry => entry.Exception),
            IsShm ? Is.All.InstanceOf<RpcException>() : Is.All.Null,
            "grpc-dotnet logs the exception itself for debugging only.");
    }

    [Test]
    public async Task Unimplemented_IsLoggedWithTheServicesThereAre()
    {
        ShmRig rig = await StartShmAsync(new Script());

        await FailureOf(rig.Invoker.AsyncUnaryCall(
            Script.Define(MethodType.Unary, "Unary", "acme.Nobody"), null, default, Payloads.Empty));

        LogEntry entry = await rig.Log.WaitForAsync(304);
        Assert.That(entry.Level, Is.EqualTo(LogLevel.Warning));
        Assert.That(entry.Message, Is.EqualTo(
            $"/acme.Nobody/Unary was called, but the server of {rig.Server.Address} does not have it: it offers "
            + $"{Script.ServiceName}. Add the service there, or correct the caller."));
    }

    [Test]
    [Item("S2")]
    public async Task PlainException_IsLoggedAsAnError()
    {
        CallRig rig = await UseAsync(Everywhere(_ => throw new InvalidOperationException("secret")));
        rig.Log.Expect(MethodThrew);

        await FailuresOfEveryShapeAsync(rig);

        await Timeouts.Eventually(() => rig.Log.Of(MethodThrew).Count == 5);
        Assert.That(rig.Log.Of(MethodThrew).Select(entry => entry.Level), Is.All.EqualTo(LogLevel.Error));
        Assert.That(rig.Log.Of(MethodThrew).Select(entry => entry.Exception!.Message), Is.All.EqualTo("secret"));
    }

    [TestCase(typeof(OperationCanceledException), MethodEndedAfterCancel, LogLevel.Information)]
    [TestCase(typeof(TaskCanceledException), MethodEndedAfterCancel, LogLevel.Information)]
    [TestCase(typeof(IOException), MethodEndedAfterCancel, LogLevel.Information)]
    [TestCase(typeof(EndOfStreamException), MethodEndedAfterCancel, LogLevel.Information)]
    [TestCase(typeof(InvalidOperationException), MethodThrew, LogLevel.Error)]
    [Item("S2")]
    public async Task ExceptionAfterTheCancel_IsLoggedByItsKind(Type type, int id, LogLevel level)
    {
        var began = new TaskCompletionSource(TaskCreationOptions.RunContinuationsAsynchronously);
        CallRig rig = await UseAsync(Everywhere(async context =>
        {
            var fired = new TaskCompletionSource();
            context.CancellationToken.Register(fired.SetResult);
            began.SetResult();
            await fired.Task;
            throw (Exception)Activator.CreateInstance(type)!;
        }));
        if (id == MethodThrew)
        {
            rig.Log.Expect(id);
        }

        AsyncUnaryCall<Payload> call = rig.Client.UnaryAsync(Payloads.Empty);
        await began.Task.Bounded();
        call.Dispose();
        LogEntry entry = await rig.Log.WaitForAsync(id);

        int other = id == MethodThrew ? MethodEndedAfterCancel : MethodThrew;
        Assert.That(entry.Level, Is.EqualTo(level));
        Assert.That(entry.Exception, Is.TypeOf(type));
        Assert.That(rig.Log.Of(other), Is.Empty);
    }

    [TestCase(typeof(OperationCanceledException))]
    [TestCase(typeof(IOException))]
    [Item("S2")]
    public async Task CancellationOfACallThatNobodyCancelled_IsAnError(Type type)
    {
        CallRig rig = await UseAsync(Everywhere(_ => throw (Exception)Activator.CreateInstance(type)!));
        rig.Log.Expect(MethodThrew);

        RpcException[] failures = await FailuresOfEveryShapeAsync(rig);

        Assert.That(failures.Select(failure => failure.StatusCode), Is.All.EqualTo(StatusCode.Unknown));
        await Timeouts.Eventually(() => rig.Log.Of(MethodThrew).Count == 5);
        Assert.That(rig.Log.Of(MethodEndedAfterCancel), Is.Empty);
    }
}
