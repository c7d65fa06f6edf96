using System.Runtime.InteropServices;
using RpcOverShm.Buffers;
using RpcOverShm.Loans;

namespace RpcOverShm.FunctionalTests.TwoProcess;

/// <summary>Payloads of another process, which is killed while they are read.</summary>
[OneMode]
[LinuxOnly("Windows passes no memory after the handshake, so nothing is lent there.")]
internal sealed class LoanProcessTests : PeerFixture
{
    private const int Length = 1 << 20;

    private static readonly Method<ShmPayload, ShmPayload> s_method = new(
        MethodType.Unary, "test.Loans", "Unary", ShmPayload.Marshaller, ShmPayload.Marshaller);

    [Test]
    public Task Payload_OfAServerThatIsKilled_StaysReadableAndLeavesNothing() => KillAsync(3);

    [Test]
    [Long(
        "Two hundred processes take half a minute.",
        "LoanProcessTests.Payload_OfAServerThatIsKilled_StaysReadableAndLeavesNothing")]
    public Task Payloads_Of200ServersThatAreKilled_LeaveNothing() => KillAsync(200);

    private async Task KillAsync(int times)
    {
        long before = LoanQuota.ProcessBytes;
        for (int i = 0; i < times; i++)
        {
            PeerProcess peer = await StartPeerAsync();
            await peer.DoAsync($"serve-loans {Address} {Directory.Path}");
            await using ShmChannel channel = OpenChannel(static options =>
            {
                options.Loans.AllowLoanedPayloads = true;
                options.MaxReceiveMessageSize = null;
            });
            await channel.ConnectAsync().Bounded();
            (await CallAsync(channel)).Dispose();
            await Timeouts.Eventually(() => channel.Connections.Current!.Loans!.Borrowed.MappedBytes > 0);
            ShmPayload held = await CallAsync(channel);
            using ShmPayload own = channel.RentPayload(Length);

            peer.Kill();
            await Timeouts.Eventually(() => channel.State != ConnectivityState.Ready);

            Assert.That(MemoryMarshal.TryGetMemoryManager<byte, SharedPiece>(held.Bytes.First, out _));
            Assert.That(held.ToArray().AsSpan().IndexOfAnyExcept((byte)9), Is.EqualTo(-1));
            held.Dispose();
        }

        await Timeouts.Eventually(() => LoanQuota.ProcessBytes == before);
    }

    private static async Task<ShmPayload> CallAsync(ShmChannel channel)
    {
        using ShmPayload request = channel.RentPayload(Length);
        request.Memory.Span.Fill(9);
        return await channel.CreateCallInvoker().AsyncUnaryCall(s_method, null, default, request)
            .ResponseAsync.Bounded();
    }
}
