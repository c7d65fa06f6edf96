namespace RpcOverShm.FunctionalTests.Support;

/// <summary>
/// The base of fixtures for gRPC's items: after each test the next call must succeed, on shared memory over the same
/// connection.
/// </summary>
internal abstract class ItemFixture(RigKind kind) : RigFixture(kind)
{
    /// <summary>Logged when a method threw an RpcException.</summary>
    protected const int MethodEndedWithStatus = 300;

    /// <summary>Logged as an error when a method threw anything else.</summary>
    protected const int MethodThrew = 301;

    /// <summary>Logged when a method ended as cancelled after its call was cancelled.</summary>
    protected const int MethodEndedAfterCancel = 302;

    private const int ConnectionOpened = 100;

    private readonly List<CallRig> _used = [];

    [TearDown]
    public async Task NextCallIsFineAsync()
    {
        CallRig[] used = [.. _used];
        _used.Clear();
        foreach (CallRig rig in used)
        {
            Payload next = await EchoAsync(rig);
            Assert.That(next.Text(), Is.EqualTo("still"));
            if (IsShm)
            {
                await CallRig.WhenLoggedAsync();
                Assert.That(
                    rig.Log.Of(ConnectionOpened), Has.Count.EqualTo(2), "One connection, logged by both its sides.");
            }
        }
    }

    /// <summary>Starts a rig with the script and the service of the final check.</summary>
    protected Task<CallRig> UseAsync(Script script, RigOptions? options = null) => UseAsync(options, script.Build());

    /// <summary>Starts a rig with the test's services and the service of the final check.</summary>
    protected async Task<CallRig> UseAsync(RigOptions? options, params ServerServiceDefinition[] services)
    {
        CallRig rig = await StartAsync(
            options, [.. services, ConformanceContract.BindService(new ConformanceService())]);
        _used.Add(rig);
        return rig;
    }

    private async Task<Payload> EchoAsync(CallRig rig)
    {
        try
        {
            return await rig.Conformance.EchoAsync(Payloads.Of("still")).ResponseAsync.Bounded();
        }
        catch (RpcException failure) when (
            !IsDotNet && failure.StatusCode is (StatusCode.ResourceExhausted or StatusCode.Unavailable))
        {
            // Once in some hundred runs the C core fails a call, or its connection, because of the previous call's
            // metadata.
            return await rig.Conformance.EchoAsync(Payloads.Of("still")).ResponseAsync.Bounded();
        }
    }

    /// <summary>Makes a further call: afterwards there is a connection, and earlier frames have arrived.</summary>
    protected static Task ConnectAsync(CallRig rig) =>
        rig.Conformance.EchoAsync(Payloads.Empty).ResponseAsync.Bounded();

    /// <summary>Returns the failures of calls of every shape.</summary>
    protected static async Task<RpcException[]> FailuresOfEveryShapeAsync(CallRig rig, CallOptions options = default)
    {
        var failures = new List<RpcException>();
        foreach (Func<Task<RpcException>> failure in CallsOfEveryShape(rig.Client, options))
        {
            failures.Add(await failure());
        }

        return [.. failures];
    }

    /// <summary>Returns calls of every shape that are expected to fail.</summary>
    protected static IEnumerable<Func<Task<RpcException>>> CallsOfEveryShape(
        ScriptClient client, CallOptions options = default) =>
    [
        () => CallFailure.OfBlocking(() => client.Unary(Payloads.Empty, options)),
        () => FailureOf(client.UnaryAsync(Payloads.Empty, options)),
        () => FailureOf(client.ClientStream(options).ResponseAsync),
        () => FailureOf(client.ServerStream(Payloads.Empty, options).ResponseStream.ToListAsync()),
        () => FailureOf(client.Duplex(options).ResponseStream.ToListAsync()),
    ];

    /// <summary>Returns the exception thrown directly or through the task; null if none.</summary>
    protected static async Task<Exception?> CatchAsync(Func<Task> action)
    {
        try
        {
            await action().Bounded();
            return null;
        }
        catch (Exception exception)
        {
            return exception;
        }
    }

    /// <summary>Runs a delegate in a server streaming method and returns its exception; null if none.</summary>
    protected async Task<Exception?> InMethodAsync(Func<IServerStreamWriter<Payload>, ServerCallContext, Task> action)
    {
        var result = new TaskCompletionSource<Exception?>();
        CallRig rig = await UseAsync(new Script
        {
            ServerStream = async (_, responses, context) =>
                result.SetResult(await CatchAsync(() => action(responses, context))),
        });
        using AsyncServerStreamingCall<Payload> call = rig.Client.ServerStream(Payloads.Empty);
        Exception? thrown = await result.Task.Bounded();
        await call.ResponseStream.ToListAsync();
        return thrown;
    }
}
