using System.Net.Sockets;
using RpcOverShm.Links;
using RpcOverShm.Protocol;
using RpcOverShm.Segments;
using RpcOverShm.TestPeer.Raw;
using RpcOverShm.Testing;

namespace RpcOverShm.TestPeer;

/// <summary>
/// Plays a build of another protocol version: speaks the handshake by hand, up to the other side's answer.
/// </summary>
internal static class HelloCommands
{
    private static readonly PeerLimits s_limits = new(64 << 10, PeerLimits.SmallestCallWindow, 1, 0);

    /// <summary>Sends a client's hello with these versions to a server; the reply is the server's answer.</summary>
    public static async Task<string> GreetAsync(string path, int lowest, int highest)
    {
        using Socket socket = await UnixSockets.ConnectAsync(path);
        using var segment = SharedSegment.Create(s_limits.RingCapacity, Guid.NewGuid());
        RawHandshake.Send(socket, MakeHello(HelloType.Client, Guid.NewGuid(), lowest, highest), segment);
        using Handshake.ReceivedHello? answer = await RawHandshake.ReceiveAsync(socket, CancellationToken.None);
        return answer?.Hello is { } hello
            ? $"{hello.Type} {hello.RefusalReason} {hello.LowestVersion} {hello.RefusalText}"
            : "closed";
    }

    /// <summary>
    /// Listens, and answers the next client with this version, independently of the client's versions.
    /// </summary>
    public static Task<string> AnswerAsync(string path, int version)
    {
        Socket listener = UnixSockets.Listen(path);
        _ = AnswerOneAsync(listener, version);
        return Task.FromResult("");
    }

    private static async Task AnswerOneAsync(Socket listener, int version)
    {
        using (listener)
        {
            using Socket client = await listener.AcceptAsync();
            using Handshake.ReceivedHello? hello = await RawHandshake.ReceiveAsync(client, CancellationToken.None);
            using var segment = SharedSegment.Create(s_limits.RingCapacity, hello!.Hello.ConnectionId);
            RawHandshake.Send(client, MakeHello(HelloType.Server, hello.Hello.ConnectionId, version, version), segment);

            // Until the client has read the answer and closed its socket.
            await client.ReceiveAsync(new byte[1]);
        }
    }

    private static Hello MakeHello(HelloType type, Guid id, int lowest, int highest) =>
        RawHello.Of(type, s_limits, id) with { LowestVersion = (ushort)lowest, HighestVersion = (ushort)highest };
}
