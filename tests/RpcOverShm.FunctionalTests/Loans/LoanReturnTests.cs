using RpcOverShm.Loans;

namespace RpcOverShm.FunctionalTests.Loans;

/// <summary>Pieces that a receiver gives back, which wait for its next frame unless the sender needs them.</summary>
[LinuxOnly("Windows passes no memory after the handshake, so nothing is lent there.")]
internal sealed class LoanReturnTests : LoanFixture
{
    private const int LimitReached = 109;
    private const int Block = 64 << 10;

    private static Action<ShmChannelOptions> OneFile => static options => options.Loans.MaxConnectionSize = MiB;

    [Test]
    public async Task SenderWithAnEmptyPool_GetsAPieceThatTheReceiverHoldsBack()
    {
        (ShmRig rig, ShmChannel channel) = await StartLendingAsync(change: OneFile);
        rig.Log.Expect(LimitReached);
        var kept = new List<ShmPayload>();
        for (int i = 0; i < 14; i++)
        {
            kept.Add(await RentAsync(channel, Block));
        }

        // The method disposes the first request when it has the second one, which it keeps. It sends nothing.
        using AsyncClientStreamingCall<ShmPayload, ShmPayload> call =
            channel.CreateCallInvoker().AsyncClientStreamingCall(Methods.Of(MethodType.ClientStreaming), null, default);
        for (int i = 0; i < 2; i++)
        {
            using ShmPayload request = await RentAsync(channel, Block);
            await call.RequestStream.WriteAsync(request).Bounded();
        }

        PeerLoans atServer = LoansOf(rig).Borrowed;
        await Timeouts.Eventually(() => atServer is { HasNews: true, HeldBytes: Block });
        Assert.That(PoolOf(channel).TakenBytes, Is.EqualTo(MiB), "Too little to be returned at once.");
        ShmPayload? last = null;
        await Timeouts.Eventually(() => TryRent(channel, out last));

        Assert.That(IsShared(last!));
        kept.ForEach(payload => payload.Dispose());
        last!.Dispose();
        await call.RequestStream.CompleteAsync().Bounded();
        (await call.ResponseAsync.Bounded()).Dispose();
        await AssertAllBackAsync(rig, channel);
    }

    [Test]
    public async Task SenderThatIsFasterThanItsReceiver_GoesOnWithoutAnyAnswer()
    {
        (ShmRig rig, ShmChannel channel) = await StartLendingAsync(change: OneFile);
        rig.Log.Expect(LimitReached);
        (await RentAsync(channel, Block)).Dispose();
        using AsyncClientStreamingCall<ShmPayload, ShmPayload> call =
            channel.CreateCallInvoker().AsyncClientStreamingCall(Methods.Of(MethodType.ClientStreaming), null, default);
        for (int i = 0; i < 1000; i++)
        {
            ShmPayload? request = null;
            await Timeouts.Eventually(() => TryRent(channel, out request));
            request!.Memory.Span.Fill((byte)i);
            await call.RequestStream.WriteAsync(request).Bounded();
            request.Dispose();
        }

        await call.RequestStream.CompleteAsync().Bounded();
        using (ShmPayload last = await call.ResponseAsync.Bounded())
        {
            AssertFilled(last, Block, unchecked((byte)999));
        }

        Assert.That(WasRequestLent);
        await AssertAllBackAsync(rig, channel);
    }

    private static bool TryRent(ShmChannel channel, out ShmPayload? payload)
    {
        try
        {
            payload = channel.RentPayload(Block);
            return true;
        }
        catch (RpcException exception) when (exception.StatusCode == StatusCode.ResourceExhausted)
        {
            payload = null;
            return false;
        }
    }
}
