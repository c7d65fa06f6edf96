using System.Globalization;

namespace RpcOverShm.FunctionalTests.TwoProcess;

/// <summary>Gigabytes through one call and one stream: every byte is checked, and neither process grows.</summary>
[OneMode]
internal sealed class VolumeTests : PeerFixture
{
    private const long MiB = 1 << 20;
    private const long GiB = 1 << 30;
    private const long WarmUpBytes = 64 * MiB;
    private const long MostGrowthBytes = 64 * MiB;
    private const int MessageBytes = 64 << 10;

    // After the warm-up, memory is checked after each part of this size.
    private const long PartBytes = 256 * MiB;

    [TestCase(GiB / 2)]
    [TestCase(10 * GiB, Category = "Stress", Explicit = true, Reason = "Long.")]
    [HangBound(600)]
    public async Task ServerStream_OfManyGigabytes_GrowsNeitherProcess(long bytes)
    {
        PeerProcess peer = await StartServingPeerAsync();
        var client = new Conformance.ConformanceClient(OpenChannel());
        using AsyncServerStreamingCall<Payload> call = client.Pump(
            new PumpRequest { Messages = (WarmUpBytes + bytes) / MessageBytes, MessageBytes = MessageBytes });
        var pattern = new BytePattern(0);

        async Task<long> CountWrongAsync(long count)
        {
            long wrong = 0;
            for (long left = count; left > 0; left -= MessageBytes)
            {
                if (!await call.ResponseStream.MoveNext())
                {
                    return wrong + left;
                }

                wrong += pattern.CountWrong(call.ResponseStream.Current.Data.Span);
            }

            return wrong;
        }

        await AssertNoGrowthAsync(peer, bytes, CountWrongAsync);

        Assert.That(await call.ResponseStream.MoveNext(), Is.False);
        Assert.That(call.GetStatus().StatusCode, Is.EqualTo(StatusCode.OK));
    }

    [TestCase(GiB / 2)]
    [TestCase(10 * GiB, Category = "Stress", Explicit = true, Reason = "Long.")]
    [HangBound(600)]
    public async Task RawStream_OfManyGigabytes_GrowsNeitherProcess(long bytes)
    {
        (PeerProcess peer, ShmStream stream) = await OpenStreamAsync();
        await using ShmStream atTheEnd = stream;
        await peer.DoAsync(string.Create(CultureInfo.InvariantCulture, $"stream-pump {WarmUpBytes + bytes}"));
        var pattern = new BytePattern(0);

        await AssertNoGrowthAsync(peer, bytes, count => StreamChecks.CountWrongAsync(stream, count, pattern));

        Assert.That(await stream.ReadAsync(new byte[1]), Is.Zero, "The peer has closed after its last byte.");
    }

    private static async Task AssertNoGrowthAsync(PeerProcess peer, long bytes, Func<long, Task<long>> countWrong)
    {
        Assert.That(await countWrong(WarmUpBytes), Is.Zero);
        long here = Environment.WorkingSet;
        long there = await WorkingSetAsync(peer);
        long growthHere = 0;
        long growthThere = 0;
        for (long left = bytes; left > 0; left -= PartBytes)
        {
            Assert.That(await countWrong(Math.Min(left, PartBytes)), Is.Zero);
            growthHere = Math.Max(growthHere, Environment.WorkingSet - here);
            growthThere = Math.Max(growthThere, await WorkingSetAsync(peer) - there);
        }

        TestContext.Out.WriteLine(
            $"{bytes / MiB} MiB: the reader grew by {growthHere / MiB} MiB, the sender by {growthThere / MiB} MiB.");
        Assert.That(growthHere, Is.LessThan(MostGrowthBytes), "where they are read");
        Assert.That(growthThere, Is.LessThan(MostGrowthBytes), "where they are sent");
    }

    private static async Task<long> WorkingSetAsync(PeerProcess peer) =>
        long.Parse(await peer.DoAsync("memory"), CultureInfo.InvariantCulture);
}
