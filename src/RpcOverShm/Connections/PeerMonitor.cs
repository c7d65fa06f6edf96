using System.Net.Sockets;
using RpcOverShm.Protocol;
using RpcOverShm.Segments;

namespace RpcOverShm.Connections;

/// <summary>
/// Watches the rendezvous socket after the handshake. Its end-of-file is the only verdict of death:
/// the kernel closes the peer's end however the process ends. The only message that may still come is a refusal with
/// the reason of a close.
/// </summary>
internal static class PeerMonitor
{
    /// <summary>Starts watching; ends by itself with the socket.</summary>
    public static void Start(Socket socket, PeerLink link) => _ = WatchAsync(socket, link);

    private static async Task WatchAsync(Socket socket, PeerLink link)
    {
        try
        {
            using Handshake.ReceivedHello? last =
                await Handshake.ReceiveAsync(socket, CancellationToken.None).ConfigureAwait(false);
            if (last is { Hello.Type: HelloType.Refusal })
            {
                link.OnPeerComplaint(last.Hello.RefusalText);
            }
            else if (last is not null)
            {
                link.Close(new CloseReason(CloseCause.PeerViolation, "The peer sent a second hello."));
            }
        }
        catch (Exception exception) when (exception is ProtocolException or SegmentException)
        {
            link.Close(new CloseReason(CloseCause.PeerViolation, exception.Message, exception));
        }
        catch (Exception exception)
            when (exception is SocketException or IOException or ObjectDisposedException or OperationCanceledException)
        {
            // A reset is an end like any other; a disposed socket is this side's own close.
        }
        finally
        {
            link.OnPeerGone();
        }
    }
}
