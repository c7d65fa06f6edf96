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
    public async Task ClientWrite_ByItsToken_CancelsTheWholeCall([Values] bool isCancelledBefore)
    {
        var fired = new TaskCompletionSource();
        ShmRig rig = await StartShmAsync(
            new Script
            {
                ClientStream = async (_, context) =>
                {
                    context.CancellationToken.Register(fired.SetResult);
                    _began.SetResult();
                    await Task.Delay(Timeout.Infinite, context.CancellationToken);
                    return Payloads.Empty;
                },
            },
            RigOptions.AnySize);
        using var cancellation = new CancellationTokenSource();

        using AsyncClientStreamingCall<Payload, Payload> call = rig.Client.ClientStream();
        await _began.Task.Bounded();
        if (isCancelledBefore)
        {
            await cancellation.CancelAsync();
        }

        // More than the window: it waits for a handler that does not read.
        Task write = call.RequestStream.WriteAsync(Payloads.OfSize(10 << 20), cancellation.Token);
        Assert.That(write.IsCompleted, Is.EqualTo(isCancelledBefore));
        await cancellation.CancelAsync();
        RpcException failure = await FailureOf(write);
        RpcException response = await FailureOf(call.ResponseAsync);
        await fired.Task.Bounded();

        Assert.That(failure.StatusCode, Is.EqualTo(StatusCode.Cancelled));
        Assert.That(response.StatusCode, Is.EqualTo(StatusCode.Cancelled));
    }

    [Test]
    public async Task ClientWrite_WithATokenThatNeverFires_Writes()
    {
        ShmRig rig = await StartShmAsync(new Script());
        using var cancellation = new CancellationTokenSource();

        using AsyncDuplexStreamingCall<Payload, Payload> call = rig.Client.Duplex();
        await call.RequestStream.WriteAsync(Payloads.Of("x"), cancellation.Token).Bounded();
        Assert.That(await call.ResponseStream.MoveNext(cancellation.Token).Bounded());
        await cancellation.CancelAsync();

        // A token of something that has ended means nothing to the call.
        await call.RequestStream.WriteAsync(Payloads.Of("y")).Bounded();
        await call.RequestStream.CompleteAsync().Bounded();
        Assert.That((await call.ResponseStream.ReadAllAsync()).Single().Text(), Is.EqualTo("y"));
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
}
