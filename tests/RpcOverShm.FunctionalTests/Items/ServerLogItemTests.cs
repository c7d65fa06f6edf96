using Grpc.Core;
using Microsoft.Extensions.Logging;
using RpcOverShm.FunctionalTests.Rigs;
using RpcOverShm.Testing;
using RpcOverShm.Testing.Protos;

namespace RpcOverShm.FunctionalTests.Items;

/// <summary>
/// What a server logs of its methods' ends, and how loudly: S1 and S2.
/// </summary>
[EveryRig]
[NotOn(RigKind.GrpcCore, "It logs to one logger of the process, in other words.")]
internal sealed class ServerLogItemTests(RigKind kind) : ItemFixture(kind)
{
    [Test]
    public async Task S1_RpcException_IsLoggedAsInformation()
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
    public async Task S2_PlainException_IsLoggedAsAnError()
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
    public async Task S2_ExceptionAfterTheCancel_IsLoggedByItsKind(Type type, int id, LogLevel level)
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
    public async Task S2_CancellationOfACallThatNobodyCancelled_IsAnError(Type type)
    {
        CallRig rig = await UseAsync(Everywhere(_ => throw (Exception)Activator.CreateInstance(type)!));
        rig.Log.Expect(MethodThrew);

        RpcException[] failures = await FailuresOfEveryShapeAsync(rig);

        Assert.That(failures.Select(failure => failure.StatusCode), Is.All.EqualTo(StatusCode.Unknown));
        await Timeouts.Eventually(() => rig.Log.Of(MethodThrew).Count == 5);
        Assert.That(rig.Log.Of(MethodEndedAfterCancel), Is.Empty);
    }
}
