using System.Net.Sockets;
using Microsoft.Extensions.Logging;
using RpcOverShm.Systems;

namespace RpcOverShm.Linux;

/// <summary>Connects to the socket of a server, and says why it cannot. Holds no state.</summary>
internal static class SocketCaller
{
    // The pause before the next attempt when the server's backlog is full.
    private static readonly TimeSpan s_retryPause = TimeSpan.FromMilliseconds(2);

    /// <summary>As <see cref="HostSystem.ConnectAsync"/>.</summary>
    public static async Task<Wire> ConnectAsync(SocketAddress address, ILogger logger, CancellationToken token)
    {
        address.Default?.ReportOnce(logger);
        Socket socket = Create();
        var wire = new SocketWire(socket);
        try
        {
            await ConnectAsync(socket, address, token).ConfigureAwait(false);
            return wire;
        }
        catch
        {
            ForeignHandles.Shared.Close(wire);
            throw;
        }
    }

    private static Socket Create()
    {
        try
        {
            return new Socket(AddressFamily.Unix, SocketType.Stream, ProtocolType.Unspecified);
        }
        catch (SocketException exception)
        {
            throw new IOException(exception.Message, exception); // There is no descriptor free.
        }
    }

    private static async Task ConnectAsync(Socket socket, SocketAddress address, CancellationToken token)
    {
        var endPoint = new UnixDomainSocketEndPoint(address.SocketPath);
        while (true)
        {
            try
            {
                await socket.ConnectAsync(endPoint, token).ConfigureAwait(false);
                return;
            }
            catch (SocketException exception)
                when (exception.SocketErrorCode is SocketError.WouldBlock or SocketError.TryAgain)
            {
                // With a full backlog a Unix socket fails at once with EAGAIN; there is no pending connect to await.
                await Task.Delay(s_retryPause, token).ConfigureAwait(false);
            }
            catch (SocketException exception) when (exception.SocketErrorCode == SocketError.AccessDenied)
            {
                throw new ConnectException(ConnectFailure.AccessDenied, ExplainDenied(address), exception);
            }
            catch (SocketException exception)
            {
                throw new ConnectException(
                    ConnectFailure.NotListening,
                    $"No server listens at {address.Name}: {Explain(exception, address)}",
                    exception);
            }
        }
    }

    // The system's text for a missing socket file ("Cannot assign requested address") does not help the user.
    private static string Explain(SocketException exception, SocketAddress address) =>
        exception.SocketErrorCode switch
        {
            SocketError.AddressNotAvailable when address.Advice is { } advice =>
                "there is no such socket. Start the server first. "
                + $"{advice} {NamesInDirectory.Describe(Path.GetDirectoryName(address.SocketPath)!)}",
            SocketError.AddressNotAvailable =>
                "there is no such socket. Start the server first, with the same path.",
            SocketError.ConnectionRefused =>
                "nobody listens on this file any more. Start the server again; it replaces what a dead one has left.",
            _ => exception.Message + ".",
        };

    private static string ExplainDenied(SocketAddress address)
    {
        uint me = LinuxNative.GetEffectiveUserId();
        try
        {
            if (FileFacts.OfPath(address.SocketPath) is { } facts)
            {
                return $"The socket of a server is at {address.Name}, but it belongs to user {facts.UserId} and "
                    + $"user {me} may not open it: run client and server as the same user, or set AllowedUsers or "
                    + "AllowedGroup of the server.";
            }
        }
        catch (IOException)
        {
            // The user may not search a directory of the path.
        }

        return $"User {me} may not look for a server at {address.Name}: a directory of this path is closed to it. "
            + "Run client and server as the same user, or put the socket where both users may search.";
    }
}
