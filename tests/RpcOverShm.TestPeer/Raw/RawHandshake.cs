using System.Net.Sockets;
using RpcOverShm.Links;
using RpcOverShm.Linux;
using RpcOverShm.Protocol;
using RpcOverShm.Segments;

namespace RpcOverShm.TestPeer.Raw;

/// <summary>The messages of a handshake over a socket that stays the caller's.</summary>
internal static class RawHandshake
{
    public static void Send(Socket socket, Hello hello, SharedSegment? segment) =>
        new SocketWire(socket).Send(hello.Encode(), segment is null ? [] : [segment.Handle]);

    public static Task<Handshake.ReceivedHello?> ReceiveAsync(Socket socket, CancellationToken cancellationToken) =>
        Handshake.ReceiveAsync(new SocketWire(socket), cancellationToken);

    public static void TrySendRefusal(Socket socket, ConnectionPurpose purpose, RefusalReason reason, string text) =>
        Handshake.TrySendRefusal(new SocketWire(socket), purpose, reason, text);
}
