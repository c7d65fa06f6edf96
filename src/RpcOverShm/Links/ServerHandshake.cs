using System.Net.Sockets;
using RpcOverShm.Diagnostics;
using RpcOverShm.Protocol;
using RpcOverShm.Segments;

namespace RpcOverShm.Links;

/// <summary>
/// The server's half of the handshake, after the hello has come. Holds no state, and never waits; owns the socket and
/// the segments until the link owns them.
/// </summary>
internal static class ServerHandshake
{
    /// <summary>
    /// Answers a client's hello. Returns null if the client was refused: the refusal is sent, the event logged and the
    /// socket closed. Also returns null if it asks for statistics: another class then has the socket. The link gives
    /// its place back when its memory is unmapped.
    /// </summary>
    /// <exception cref="SegmentException">The client's descriptor failed a check, or a step of the system.</exception>
    /// <exception cref="IOException">The client has gone.</exception>
    public static PeerLink? Answer(
        Socket socket,
        Handshake.ReceivedHello received,
        PeerIdentity client,
        ConnectionSettings settings,
        ConnectionPlaces places)
    {
        SocketCalls.RefuseDescriptors(socket);
        Hello hello = received.Hello;
        if (hello.Type != HelloType.Client)
        {
            return Refuse(socket, settings, RefusalReason.BadHello, "A client's hello was expected.");
        }

        if (ProtocolVersion.Negotiate(hello.LowestVersion, hello.HighestVersion) is not { } version)
        {
            return Refuse(socket, settings, RefusalReason.Version, Mismatch(hello));
        }

        if (hello.Purpose == ConnectionPurpose.Statistics && settings.OnStatisticsWanted is { } onStatisticsWanted)
        {
            onStatisticsWanted(new StatisticsRequest(socket, hello, client, version));
            return null;
        }

        if (hello.Purpose != settings.Purpose)
        {
            return Refuse(socket, settings, RefusalReason.Purpose, Mismatch(settings.Purpose, hello.Purpose));
        }

        if (Handshake.Check(hello) is { } problem)
        {
            return Refuse(socket, settings, RefusalReason.BadHello, $"The client announced {problem}.");
        }

        if (Handshake.CheckPeerRing(hello, settings, "client") is { } excess)
        {
            return Refuse(socket, settings, RefusalReason.NoResources, excess);
        }

        if (places.Take(client) is { } reached)
        {
            return RefuseFull(socket, settings, reached);
        }

        PeerLink? link = null;
        try
        {
            link = Agree(socket, received, client, settings, version);
            link.OnUnmapped = () => places.GiveBack(client);
            return link;
        }
        finally
        {
            if (link is null)
            {
                places.GiveBack(client);
            }
        }
    }

    /// <summary>Refuses a client and closes its socket; returns null.</summary>
    public static PeerLink? Refuse(Socket socket, ConnectionSettings settings, RefusalReason reason, string text)
    {
        DeferredLog.Write(settings.Logger, log => ShmLog.ClientRefused(log, text));
        return SendRefusal(socket, settings, reason, text);
    }

    /// <summary>Refuses a client because a limit is reached, and closes its socket; returns null.</summary>
    public static PeerLink? RefuseFull(Socket socket, ConnectionSettings settings, ReachedLimit reached)
    {
        LimitEvents.Reached(settings.Logger, reached.Option, reached.Limit, $"A client was refused: {reached.Facts}.");
        return SendRefusal(socket, settings, RefusalReason.Full, reached.ToString());
    }

    /// <summary>Refuses a client that may not connect, and closes its socket.</summary>
    public static void Deny(Socket socket, ConnectionSettings settings, PeerIdentity client)
    {
        // The client is told less than the log: not the users of the server.
        string takes = settings.Access.Describe(LinuxNative.GetEffectiveUserId());
        string text = $"The client is {client}, and this server takes clients {takes} only.";
        DeferredLog.Write(settings.Logger, log => ShmLog.ClientRefused(log, text));
        SendRefusal(socket, settings, RefusalReason.AccessDenied, AccessPolicy.Refusal);
    }

    private static PeerLink Agree(
        Socket socket,
        Handshake.ReceivedHello received,
        PeerIdentity client,
        ConnectionSettings settings,
        ushort version)
    {
        Hello hello = received.Hello;
        SharedSegment peer = received.OpenSegment();
        SharedSegment? own = null;
        PeerLink? link = null;
        try
        {
            own = CreateSegment(settings, hello);
            var answer = new Hello
            {
                Type = HelloType.Server,
                Purpose = settings.Purpose,
                LowestVersion = version,
                HighestVersion = version,
                Features = hello.Features & Hello.KnownFeatures,
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
        catch (IOException exception) when (DescriptorPassing.IsShortage(exception))
        {
            throw new SegmentException(exception.Message, exception) { IsShortage = true };
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

    // A failure here is this side's, whatever its reason; only one of the client's descriptor is the client's.
    private static SharedSegment CreateSegment(ConnectionSettings settings, Hello hello)
    {
        try
        {
            return SharedSegment.Create(settings.Limits.RingCapacity, hello.ConnectionId);
        }
        catch (SegmentException exception)
        {
            throw new SegmentException(exception.Message, exception) { IsShortage = true };
        }
    }

    private static PeerLink? SendRefusal(
        Socket socket, ConnectionSettings settings, RefusalReason reason, string text)
    {
        Handshake.TrySendRefusal(socket, settings.Purpose, reason, text);
        ForeignHandles.Shared.Close(socket);
        return null;
    }

    private static string Mismatch(Hello hello) =>
        $"The client speaks protocol {ProtocolVersion.Describe(hello.LowestVersion, hello.HighestVersion)}, "
        + $"this server, {ProtocolVersion.Package}, speaks {ProtocolVersion.Own}. "
        + (hello.LowestVersion > ProtocolVersion.Highest ? "Update the server." : "Update the client.");

    private static string Mismatch(ConnectionPurpose own, ConnectionPurpose wanted) =>
        $"{Describe(own)} listens here; the client wants {Requested(wanted)}.";

    private static string Describe(ConnectionPurpose purpose) =>
        purpose == ConnectionPurpose.Calls ? "A server of RPC calls" : "A listener for byte streams";

    private static string Requested(ConnectionPurpose purpose) => purpose switch
    {
        ConnectionPurpose.Calls => "RPC calls",
        ConnectionPurpose.ByteStream => "a byte stream",
        ConnectionPurpose.Statistics => "statistics",
        _ => $"purpose {(byte)purpose}",
    };
}
