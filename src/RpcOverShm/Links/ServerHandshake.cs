using System.Net.Sockets;
using RpcOverShm.Diagnostics;
using RpcOverShm.Protocol;
using RpcOverShm.Segments;

namespace RpcOverShm.Links;

/// <summary>
/// The server's half of the handshake. Holds no state; owns the socket and the segments until the link owns them.
/// </summary>
internal static class ServerHandshake
{
    /// <summary>
    /// Answers one client. Returns null if the client was refused or went away: the refusal, if any, is sent and the
    /// event logged.
    /// </summary>
    public static async Task<PeerLink?> ShakeHandsAsync(
        Socket socket, ConnectionSettings settings, CancellationToken stopping)
    {
        using var timeout = CancellationTokenSource.CreateLinkedTokenSource(stopping);
        timeout.CancelAfter(settings.ConnectTimeout);
        PeerLink? link = null;
        try
        {
            PeerIdentity client = PeerIdentity.Of(socket);
            if (!client.IsTrusted)
            {
                return Refuse(socket, settings, RefusalReason.AccessDenied, Denial(client));
            }

            using Handshake.ReceivedHello? received =
                await Handshake.ReceiveAsync(socket, timeout.Token).ConfigureAwait(false);
            if (received is null)
            {
                ShmLog.ClientLeftHandshake(settings.Logger, client.ProcessId);
                return null;
            }

            return link = Answer(socket, received, client, settings);
        }
        catch (OperationCanceledException)
        {
            return stopping.IsCancellationRequested
                ? Refuse(socket, settings, RefusalReason.Stopping, "The server is stopping.")
                : Refuse(socket, settings, RefusalReason.BadHello, "No hello came in time.");
        }
        catch (Exception exception) when (exception is ProtocolException or SegmentException)
        {
            return Refuse(socket, settings, RefusalReason.BadHello, exception.Message);
        }
        catch (Exception exception) when (exception is IOException or SocketException)
        {
            ShmLog.HandshakeBroken(settings.Logger, exception.Message, exception);
            return null;
        }
        finally
        {
            if (link is null)
            {
                socket.Dispose();
            }
        }
    }

    private static PeerLink? Answer(
        Socket socket, Handshake.ReceivedHello received, PeerIdentity client, ConnectionSettings settings)
    {
        Hello hello = received.Hello;
        if (hello.Type != HelloType.Client)
        {
            return Refuse(socket, settings, RefusalReason.BadHello, "A client's hello was expected.");
        }

        if (ProtocolVersion.Negotiate(hello.LowestVersion, hello.HighestVersion) is not { } version)
        {
            return Refuse(socket, settings, RefusalReason.Version, Mismatch(hello));
        }

        if (hello.Purpose != settings.Purpose)
        {
            string text = $"{Describe(settings.Purpose)} listens here; the client wants {Requested(hello.Purpose)}.";
            return Refuse(socket, settings, RefusalReason.Purpose, text);
        }

        if (Handshake.Check(hello) is { } problem)
        {
            return Refuse(socket, settings, RefusalReason.BadHello, $"The client announced {problem}.");
        }

        return Agree(socket, received, client, settings, version);
    }

    private static PeerLink? Agree(
        Socket socket,
        Handshake.ReceivedHello received,
        PeerIdentity client,
        ConnectionSettings settings,
        ushort version)
    {
        Hello hello = received.Hello;
        SharedSegment peer = SharedSegment.Open(received.Descriptor!, hello.Limits.RingCapacity);
        SharedSegment? own = null;
        PeerLink? link = null;
        try
        {
            own = SharedSegment.Create(settings.Limits.RingCapacity, hello.ConnectionId);
            var answer = new Hello
            {
                Type = HelloType.Server,
                Purpose = settings.Purpose,
                LowestVersion = version,
                HighestVersion = version,
                ConnectionId = hello.ConnectionId,
                Limits = settings.Limits,
            };

            // CRASH hello-received: the client, which waits for the answer, gets the end of the socket instead.
            CrashPoint.Reach(CrashPoint.HelloReceived);
            Handshake.Send(socket, answer, own);
            own.ReleaseDescriptor();
            return link = new PeerLink(
                socket, own, peer, client, hello.ConnectionId, settings, hello.Limits, isAcceptor: true);
        }
        catch (SegmentException exception)
        {
            return Refuse(socket, settings, RefusalReason.NoResources, exception.Message);
        }
        finally
        {
            if (link is null)
            {
                own?.Dispose();
                peer.Dispose();
            }
        }
    }

    private static string Denial(PeerIdentity client)
    {
        uint me = LinuxNative.GetEffectiveUserId();
        return $"The client is {client}, and a server of user {me} takes clients of user {me} and of root only: "
            + "run client and server as the same user.";
    }

    private static string Mismatch(Hello hello) =>
        $"The client speaks protocol {ProtocolVersion.Describe(hello.LowestVersion, hello.HighestVersion)}, "
        + $"this server, {ProtocolVersion.Package}, speaks {ProtocolVersion.Own}. "
        + (hello.LowestVersion > ProtocolVersion.Highest ? "Update the server." : "Update the client.");

    private static PeerLink? Refuse(Socket socket, ConnectionSettings settings, RefusalReason reason, string text)
    {
        ShmLog.ClientRefused(settings.Logger, text);
        Handshake.TrySendRefusal(socket, settings.Purpose, reason, text);
        return null;
    }

    private static string Describe(ConnectionPurpose purpose) =>
        purpose == ConnectionPurpose.Calls ? "A server of RPC calls" : "A listener for byte streams";

    private static string Requested(ConnectionPurpose purpose) => purpose switch
    {
        ConnectionPurpose.Calls => "RPC calls",
        ConnectionPurpose.ByteStream => "a byte stream",
        _ => $"purpose {(byte)purpose}",
    };
}
