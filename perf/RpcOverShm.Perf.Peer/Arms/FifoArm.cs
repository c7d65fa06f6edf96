using System.Net.Sockets;

namespace RpcOverShm.Perf.Peer.Arms;

/// <summary>
/// Two pipes of the kernel, one each way, found by name: the same object as a child's standard input and output, with
/// the same buffer. A Unix socket only introduces the two sides.
/// </summary>
internal sealed class FifoArm : ByteStreamArm
{
    private const int NoBuffer = 0;

    public override string Name => "fifo";

    /// <summary>The system has no way to await a pipe: .NET would block a thread of the pool.</summary>
    public override bool Supports(LoadShape shape, CallerKind caller) =>
        !OperatingSystem.IsWindows() && caller == CallerKind.Blocking && base.Supports(shape, caller);

    public override Task<string> ServeAsync(string place)
    {
        Socket door = MakeSocket();
        door.Bind(new UnixDomainSocketEndPoint(place));
        door.Listen();
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

    protected override async Task<Stream> ConnectAsync(string place, CallerKind caller)
    {
        using Socket door = MakeSocket();
        await door.ConnectAsync(new UnixDomainSocketEndPoint(place));
        byte[] answer = new byte[sizeof(int)];
        if (await door.ReceiveAsync(answer) != answer.Length)
        {
            throw new EndOfStreamException("The server did not say which pipes to use.");
        }

        int client = BitConverter.ToInt32(answer);
        return Open(RequestsOf(place, client), RepliesOf(place, client), isClient: true);
    }

    // To open a pipe waits until the other side opens it: both do it in the same order.
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

    private static Socket MakeSocket() => new(AddressFamily.Unix, SocketType.Stream, ProtocolType.Unspecified);
}
