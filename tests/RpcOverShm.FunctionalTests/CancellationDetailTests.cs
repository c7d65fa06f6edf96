using System.Globalization;
using Grpc.Core;
using RpcOverShm.FunctionalTests.Rigs;
using RpcOverShm.Testing;
using RpcOverShm.Testing.Protos;

namespace RpcOverShm.FunctionalTests;

/// <summary>What grpc-dotnet says and does of cancellation where Grpc.Core says or does something else.</summary>
[FixtureLifeCycle(LifeCycle.InstancePerTestCase)]
internal sealed class CancellationDetailTests() : RigFixture(RigKind.Shm)
{
    private readonly TaskCompletionSource _began = new(TaskCreationOptions.RunContinuationsAsynchronously);

    [Test]
    public async Task Details_TellWhoEndedTheCall()
    {
        ShmRig rig = await StartShmAsync(new Script { Unary = HoldAsync });
        using var cancellation = new CancellationTokenSource();

        Task<RpcException> cancelled = FailureOf(
            rig.Client.UnaryAsync(Payloads.Empty, new CallOptions(cancellationToken: cancellation.Token)));
        await _began.Task.Bounded();
        await cancellation.CancelAsync();
        AsyncUnaryCall<Payload> call = rig.Client.UnaryAsync(Payloads.Empty);
        call.Dispose();

        Assert.That(
            (await cancelled).Status.Plain(),
            Is.EqualTo(new Status(StatusCode.Cancelled, "Call canceled by the client.")));
        Assert.That(
            (await FailureOf(call)).Status.Plain(),
            Is.EqualTo(new Status(StatusCode.Cancelled, "gRPC call disposed.")));
    }

    [Test]
    public async Task Details_OfDeadlines_AreEmptyAtTheClient()
    {
        ShmRig rig = await StartShmAsync(new Script { Unary = HoldAsync });

        RpcException failure = await FailureOf(
            rig.Client.UnaryAsync(Payloads.Empty, new CallOptions(deadline: DateTime.MinValue)));

        Assert.That(failure.Status.Plain(), Is.EqualTo(new Status(StatusCode.DeadlineExceeded, "")));
    }

    [Test]
    public async Task HandlerWrite_ByItsToken_AbortsTheCall([Values] bool isCancelledBefore)
    {
        var result = new TaskCompletionSource<(Exception? Exception, bool HasTokenFired)>();
        using var cancellation = new CancellationTokenSource();
        ShmRig rig = await StartShmAsync(
            new Script
            {
                ServerStream = async (_, responses, context) =>
                {
                    var fired = new TaskCompletionSource();
                    context.CancellationToken.Register(fired.SetResult);
                    if (isCancelledBefore)
                    {
                        await cancellation.CancelAsync();
                    }

                    try
                    {
                        Task write = responses.WriteAsync(Payloads.OfSize(20 << 20), cancellation.Token);
                        _began.SetResult();
                        await write;
                        result.SetResult((null, false));
                    }
                    catch (Exception exception)
                    {
                        await fired.Task.Bounded();
                        result.SetResult((exception, true));
                    }
                },
            },
            RigOptions.AnySize);

        using AsyncServerStreamingCall<Payload> call = rig.Client.ServerStream(Payloads.Empty);
        await _began.Task.Bounded();
        await cancellation.CancelAsync();
        (Exception? exception, bool hasTokenFired) = await result.Task.Bounded();
        RpcException failure = await FailureOf(call.ResponseStream.ReadAllAsync());

        Assert.That(exception, Is.InstanceOf<OperationCanceledException>());
        Assert.That(hasTokenFired);
        Assert.That(failure.StatusCode, Is.EqualTo(StatusCode.Cancelled));
    }

    [Test]
    public async Task HandlerRead_ByItsToken_EndsTheReadOnly()
    {
        ShmRig rig = await StartShmAsync(new Script
        {
            ClientStream = async (requests, _) =>
            {
                using var cancellation = new CancellationTokenSource();
                Task<bool> read = requests.MoveNext(cancellation.Token);
                await cancellation.CancelAsync();
                try
                {
                    await read;
                    return Payloads.Of("the read was not cancelled");
                }
                catch (OperationCanceledException)
                {
                    _began.SetResult();
                }

                await requests.MoveNext(CancellationToken.None);
                return requests.Current;
            },
        });

        using AsyncClientStreamingCall<Payload, Payload> call = rig.Client.ClientStream();
        await _began.Task.Bounded();
        await call.RequestStream.WriteAsync(Payloads.Of("after")).Bounded();

        Assert.That((await call.ResponseAsync.Bounded()).Text(), Is.EqualTo("after"));
    }

    [Test]
    public async Task HandlerRead_WithACancelledToken_ThrowsAndTheCallLives()
    {
        ShmRig rig = await StartShmAsync(new Script
        {
            ClientStream = async (requests, _) =>
            {
                try
                {
                    await requests.MoveNext(new CancellationToken(canceled: true));
                    return Payloads.Of("the read was not cancelled");
                }
                catch (OperationCanceledException)
                {
                    await requests.MoveNext(CancellationToken.None);
                    return requests.Current;
                }
            },
        });

        using AsyncClientStreamingCall<Payload, Payload> call = rig.Client.ClientStream();
        await call.RequestStream.WriteAsync(Payloads.Of("alive")).Bounded();

        Assert.That((await call.ResponseAsync.Bounded()).Text(), Is.EqualTo("alive"));
    }

    // The method has ended by then, and its answer waits for credit that a client which has given up never gives.
    [Test]
    public async Task LargeResponse_OfACallThatIsDisposed_FreesTheCallOnBothSides()
    {
        ShmRig rig = await StartShmAsync(
            new Script
            {
                Unary = (request, _) => Task.FromResult(
                    Payloads.OfSize(int.Parse(request.Text(), CultureInfo.InvariantCulture))),
            },
            RigOptions.AnySize);

        for (int i = 0; i < 20; i++)
        {
            AsyncUnaryCall<Payload> call = rig.Client.UnaryAsync(Payloads.Of("30000000"));
            await call.ResponseHeadersAsync.Bounded();
            call.Dispose();
            await FailureOf(call);
        }

        await Timeouts.Eventually(() => rig.OnlyConnection.ServedCount == 0, "the server has forgotten the calls");
        await rig.Client.UnaryAsync(Payloads.Of("10")).ResponseAsync.Bounded();
    }

    private async Task<Payload> HoldAsync(Payload request, ServerCallContext context)
    {
        _began.TrySetResult();
        await Task.Delay(Timeout.Infinite, context.CancellationToken);
        return request;
    }
}
