using System.Net.Sockets;

namespace RpcOverShm.Perf.Peer.Arms;

/// <summary>
/// Two kernel pipes, one each way, opened by name: the same object as a child's standard input and output, with the
/// same buffer. A Unix socket only introduces the two sides.
/// </summary>
internal sealed class FifoArm() : ByteStreamArm("fifo")
{
    private const int NoBuffer = 0;

    /// <summary>The system has no way to await a pipe: .NET would block a thread of the pool.</summary>
    public override bool Supports(LoadShape shape, CallerKind caller) =>
        !OperatingSystem.IsWindows() && caller == CallerKind.Blocking && base.Supports(shape, caller);

    public override Task<string> ServeAsync(string place)
    {
        Socket door = SocketArm.ListenUnix(place);
        int clients = 0;
        AcceptForever(async () =>
        {
            using Socket visitor = await door.AcceptAsync();
            int client = clients++;
            ProcessNative.MakeFifo(RequestsOf(place, client));
            ProcessNative.MakeFifo(RepliesOf(place, client));
            await visitor.SendAsync(BitConverter.GetBytes(client));
            return Open(RepliesOf(place, client), RequestsOf(place, client), isClient: false);
        });
        return Task.FromResult(place);
    }

    public override async Task<Stream> ConnectAsync(string place, CallerKind caller)
    {
        await using NetworkStream door = await SocketArm.ConnectUnixAsync(place);
        byte[] answer = new byte[sizeof(int)];
        await door.ReadExactlyAsync(answer);
        int client = BitConverter.ToInt32(answer);
        return Open(RequestsOf(place, client), RepliesOf(place, client), isClient: true);
    }

    // Opening a pipe waits until the other side opens it: both sides do it in the same order.
    private static DuplexStream Open(string outward, string inward, bool isClient)
    {
        FileStream? first = isClient ? Open(outward, FileAccess.Write) : null;
        FileStream reader = Open(inward, FileAccess.Read);
        return new DuplexStream(reader, first ?? Open(outward, FileAccess.Write));
    }

    private static FileStream Open(string path, FileAccess access) =>
        new(path, FileMode.Open, access, FileShare.ReadWrite, NoBuffer);

    private static string RequestsOf(string place, int client) => $"{place}.{client}.requests";

    private static string RepliesOf(string place, int client) => $"{place}.{client}.replies";
}
