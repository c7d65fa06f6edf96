using Grpc.Core;
using RpcOverShm.FunctionalTests.Rigs;
using RpcOverShm.Testing;
using RpcOverShm.Testing.Protos;

namespace RpcOverShm.FunctionalTests;

/// <summary>Calls that are given up: by token, by Dispose, by a read's or a write's token, from either side.</summary>
[TestFixture(RigKind.Shm)]
[TestFixture(RigKind.GrpcCore)]
[FixtureLifeCycle(LifeCycle.InstancePerTestCase)]
internal sealed class CancellationTests(RigKind kind) : RigFixture(kind)
{
    private readonly TaskCompletionSource _handlerBegan = new(TaskCreationOptions.RunContinuationsAsynchronously);
    private readonly TaskCompletionSource _tokenFired = new(TaskCreationOptions.RunContinuationsAsynchronously);

    private static CallOptions Cancelled => new(cancellationToken: new CancellationToken(canceled: true));

    [Test]
    public async Task Token_CancelledBefore_EndsTheCallWithoutAHandler([Values] bool isBlocking)
    {
        CallRig rig = await StartAsync(new Script { Unary = HoldAsync });

        RpcException failure = isBlocking
            ? await CallFailure.OfBlocking(() => rig.Client.Unary(Payloads.Empty, Cancelled))
            : await FailureOf(rig.Client.UnaryAsync(Payloads.Empty, Cancelled));

        Assert.That(failure.StatusCode, Is.EqualTo(StatusCode.Cancelled));
        Assert.That(_handlerBegan.Task.IsCompleted, Is.False);
    }

    [Test]
    public async Task Token_CancelledBefore_DoesNotThrowFromTheStreamingCallsThemselves()
    {
        CallRig rig = await StartAsync(new Script());

        RpcException clientStream = await FailureOf(rig.Client.ClientStream(Cancelled).ResponseAsync);
        RpcException serverStream = await FailureOf(
            rig.Client.ServerStream(Payloads.Empty, Cancelled).ResponseStream.ReadAllAsync());
        RpcException duplex = await FailureOf(rig.Client.Duplex(Cancelled).ResponseStream.ReadAllAsync());

        Assert.That(
            new[] { clientStream.StatusCode, serverStream.StatusCode, duplex.StatusCode },
            Is.All.EqualTo(StatusCode.Cancelled));
    }

    [Test]
    public async Task Token_CancelledDuring_EndsTheCallAndTheHandlersTokenFires([Values] bool isBlocking)
    {
        CallRig rig = await StartAsync(new Script { Unary = HoldAsync });
        using var cancellation = new CancellationTokenSource();
        var options = new CallOptions(cancellationToken: cancellation.Token);

        Task call = isBlocking
            ? Timeouts.OnThread(() => rig.Client.Unary(Payloads.Empty, options))
            : rig.Client.UnaryAsync(Payloads.Empty, options).ResponseAsync;
        await _handlerBegan.Task.Bounded();
        await cancellation.CancelAsync();
        RpcException failure = await FailureOf(call);
        await _tokenFired.Task.Bounded();

        Assert.That(failure.StatusCode, Is.EqualTo(StatusCode.Cancelled));
    }

    [Test]
    public async Task Dispose_Unfinished_CancelsTheCall()
    {
        CallRig rig = await StartAsync(new Script { Unary = HoldAsync });

        AsyncUnaryCall<Payload> call = rig.Client.UnaryAsync(Payloads.Empty);
        await _handlerBegan.Task.Bounded();
        call.Dispose();
        RpcException failure = await FailureOf(call);
        await _tokenFired.Task.Bounded();

        Assert.That(failure.StatusCode, Is.EqualTo(StatusCode.Cancelled));
        Assert.That(call.GetStatus().StatusCode, Is.EqualTo(StatusCode.Cancelled));
    }

    [Test]
    public async Task Dispose_Finished_DoesNothing()
    {
        CallRig rig = await StartAsync(new Script());

        AsyncUnaryCall<Payload> call = rig.Client.UnaryAsync(Payloads.Of("x"));
        await call.ResponseAsync.Bounded();
        call.Dispose();
        call.Dispose();

        Assert.That((await call.ResponseAsync).Text(), Is.EqualTo("x"));
        Assert.That(call.GetStatus().StatusCode, Is.EqualTo(StatusCode.OK));
    }

    [Test]
    public async Task Dispose_OfEachStream_FailsWhatIsPendingAndFiresTheHandlersToken()
    {
        foreach (string shape in new[] { "client", "server", "duplex" })
        {
            var began = new TaskCompletionSource();
            var fired = new TaskCompletionSource();
            CallRig rig = await StartAsync(new Script
            {
                ClientStream = async (_, context) =>
                {
                    await HoldAsync(context, began, fired);
                    return Payloads.Empty;
                },
                ServerStream = (_, _, context) => HoldAsync(context, began, fired),
                Duplex = (_, _, context) => HoldAsync(context, began, fired),
            });

            (IDisposable call, Task pending) = StartShape(rig.Client, shape);
            await began.Task.Bounded();
            call.Dispose();
            RpcException failure = await FailureOf(pending);
            await fired.Task.Bounded();

            Assert.That(failure.StatusCode, Is.EqualTo(StatusCode.Cancelled), shape);
        }
    }

    [Test]
    public async Task MoveNext_ByItsToken_CancelsTheWholeCall()
    {
        CallRig rig = await StartAsync(
            new Script { ServerStream = (_, _, context) => HoldAsync(context, _handlerBegan, _tokenFired) });
        using var cancellation = new CancellationTokenSource();

        using AsyncServerStreamingCall<Payload> call = rig.Client.ServerStream(Payloads.Empty);
        Task<bool> read = call.ResponseStream.MoveNext(cancellation.Token);
        await _handlerBegan.Task.Bounded();
        await cancellation.CancelAsync();
        RpcException failure = await FailureOf(read);
        await _tokenFired.Task.Bounded();

        Assert.That(failure.StatusCode, Is.EqualTo(StatusCode.Cancelled));
        Assert.That(call.GetStatus().StatusCode, Is.EqualTo(StatusCode.Cancelled));
    }

    [Test]
    public async Task Dispose_WhileTheHandlersWriteWaits_EndsTheWriteAndTheHandler()
    {
        var wrote = new TaskCompletionSource<Exception?>();
        CallRig rig = await StartAsync(
            new Script
            {
                ServerStream = async (_, responses, _) =>
                {
                    _handlerBegan.TrySetResult();
                    try
                    {
                        // Nobody reads: it fills every window and then waits.
                        for (int i = 0; i < 1000; i++)
                        {
                            await responses.WriteAsync(Payloads.OfSize(1 << 20));
                        }

                        wrote.SetResult(null);
                    }
                    catch (Exception exception)
                    {
                        wrote.SetResult(exception);
                        throw;
                    }
                },
            });
        rig.Log.Expect(301);

        AsyncServerStreamingCall<Payload> call = rig.Client.ServerStream(Payloads.Empty);
        Assert.That(await call.ResponseStream.MoveNext(CancellationToken.None).Bounded());
        call.Dispose();
        Exception? exception = await wrote.Task.Bounded();

        Assert.That(exception, Is.Not.Null);
        await rig.Client.UnaryAsync(Payloads.Empty).ResponseAsync.Bounded();
    }

    [Test]
    public async Task ManyAtOnce_EachHandlerHearsOfIt()
    {
        int began = 0;
        int fired = 0;
        CallRig rig = await StartAsync(new Script
        {
            Unary = async (request, context) =>
            {
                Interlocked.Increment(ref began);
                try
                {
                    await Task.Delay(Timeout.Infinite, context.CancellationToken);
                }
                finally
                {
                    Interlocked.Increment(ref fired);
                }

                return request;
            },
        });
        using var cancellation = new CancellationTokenSource();
        var options = new CallOptions(cancellationToken: cancellation.Token);

        Task<RpcException>[] calls =
        [
            .. Enumerable.Range(0, 300).Select(_ => FailureOf(rig.Client.UnaryAsync(Payloads.Empty, options))),
        ];
        await Timeouts.Eventually(() => Volatile.Read(ref began) == 300);
        await cancellation.CancelAsync();
        RpcException[] failures = await Task.WhenAll(calls);
        await Timeouts.Eventually(() => Volatile.Read(ref fired) == 300);

        Assert.That(failures.Select(failure => failure.StatusCode), Is.All.EqualTo(StatusCode.Cancelled));
    }

    private static (IDisposable Call, Task Pending) StartShape(ScriptClient client, string shape)
    {
        switch (shape)
        {
            case "client":
                AsyncClientStreamingCall<Payload, Payload> clientStream = client.ClientStream();
                return (clientStream, clientStream.ResponseAsync);
            case "server":
                AsyncServerStreamingCall<Payload> serverStream = client.ServerStream(Payloads.Empty);
                return (serverStream, serverStream.ResponseStream.MoveNext(CancellationToken.None));
            default:
                AsyncDuplexStreamingCall<Payload, Payload> duplex = client.Duplex();
                return (duplex, duplex.ResponseStream.MoveNext(CancellationToken.None));
        }
    }

    private static async Task HoldAsync(
        ServerCallContext context, TaskCompletionSource began, TaskCompletionSource fired)
    {
        began.SetResult();
        try
        {
            await Task.Delay(Timeout.Infinite, context.CancellationToken);
        }
        finally
        {
            fired.SetResult();
        }
    }

    private async Task<Payload> HoldAsync(Payload request, ServerCallContext context)
    {
        await HoldAsync(context, _handlerBegan, _tokenFired);
        return request;
    }
}
