using RpcOverShm.Diagnostics;
using RpcOverShm.Protocol;
using RpcOverShm.Segments;
using RpcOverShm.Systems;

namespace RpcOverShm.Links;

/// <summary>
/// The server's half of the handshake, after the hello has come. Holds no state, and never waits; owns the wire and
/// the segments until the link owns them.
/// </summary>
internal static class ServerHandshake
{
    /// <summary>
    /// Answers a client's hello. Returns null if the client was refused: the refusal is sent, the event logged and the
    /// wire closed. Also returns null if it asks for statistics: another class then has the wire. The link gives
    /// its place back when its memory is unmapped.
    /// </summary>
    /// <exception cref="SegmentException">A handle of the client failed a check, or a step of the system.</exception>
    /// <exception cref="IOException">The client has gone.</exception>
    public static PeerLink? Answer(
        Wire wire,
        Handshake.ReceivedHello received,
        PeerIdentity client,
        ConnectionSettings settings,
        ConnectionPlaces places)
    {
        Hello hello = received.Hello;
        Handshake.RefuseHandlesUnlessAgreed(wire, hello, settings);
        if (hello.Type != HelloType.Client)
        {
            return Refuse(wire, settings, RefusalReason.BadHello, "A client's hello was expected.");
        }

        if (ProtocolVersion.Negotiate(hello.LowestVersion, hello.HighestVersion) is not { } version)
        {
            return Refuse(wire, settings, RefusalReason.Version, Mismatch(hello));
        }

        if (hello.Purpose == ConnectionPurpose.Statistics && settings.OnStatisticsWanted is { } onStatisticsWanted)
        {
            onStatisticsWanted(new StatisticsRequest(wire, hello, client, version));
            return null;
        }

        if (hello.Purpose != settings.Purpose)
        {
            return Refuse(wire, settings, RefusalReason.Purpose, Mismatch(settings.Purpose, hello.Purpose));
        }

        if (Handshake.Check(hello) is { } problem)
        {
            return Refuse(wire, settings, RefusalReason.BadHello, $"The client announced {problem}.");
        }

        if (Handshake.CheckPeerRing(hello, settings, "client") is { } excess)
        {
            return Refuse(wire, settings, RefusalReason.NoResources, excess);
        }

        if (places.Take(client) is { } reached)
        {
            return RefuseFull(wire, settings, reached);
        }

        PeerLink? link = null;
        try
        {
            link = Agree(wire, received, client, settings, version);
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

    /// <summary>Refuses a client and closes its wire; returns null.</summary>
    public static PeerLink? Refuse(Wire wire, ConnectionSettings settings, RefusalReason reason, string text)
    {
        DeferredLog.Write(settings.Logger, log => ShmLog.ClientRefused(log, text));
        return SendRefusal(wire, settings, reason, text);
    }

    /// <summary>Refuses a client because a limit is reached, and closes its wire; returns null.</summary>
    public static PeerLink? RefuseFull(Wire wire, ConnectionSettings settings, ReachedLimit reached)
    {
        LimitEvents.Reached(settings.Logger, reached.Option, reached.Limit, $"A client was refused: {reached.Facts}.");
        return SendRefusal(wire, settings, RefusalReason.Full, reached.ToString());
    }

    /// <summary>Refuses a client that may not connect, and closes its wire.</summary>
    public static void Deny(Wire wire, ConnectionSettings settings, PeerIdentity client)
    {
        // The client is told less than the log: not the users of the server.
        string takes = settings.Access.Describe();
        string text = $"The client is {client}, and this server takes clients {takes} only.";
        DeferredLog.Write(settings.Logger, log => ShmLog.ClientRefused(log, text));
        SendRefusal(wire, settings, RefusalReason.AccessDenied, AccessPolicy.Refusal);
    }

    private static PeerLink Agree(
        Wire wire,
        Handshake.ReceivedHello received,
        PeerIdentity client,
        ConnectionSettings settings,
        ushort version)
    {
        Hello hello = received.Hello;
        SharedSegment peer = received.OpenSegment();
        SharedSegment? own = null;
        Signal? signal = null;
        PeerLink? link = null;
        try
        {
            (own, signal) = CreateOwn(settings, hello);
            received.Connect(signal, own, peer);
            var answer = new Hello
            {
                Type = HelloType.Server,
                Purpose = settings.Purpose,
                LowestVersion = version,
                HighestVersion = version,
                Features = hello.Features & settings.Features,
                ConnectionId = hello.ConnectionId,
                Limits = settings.Limits,
            };

            // CRASH hello-received: the client, which waits for the answer, gets the end of the wire instead.
            CrashPoint.Reach(CrashPoint.HelloReceived);
            Handshake.Send(wire, answer, own, signal);
            own.ReleaseHandle();
            return link = new PeerLink(
                wire,
                own,
                peer,
                signal,
                client,
                hello.ConnectionId,
                settings,
                hello.Limits,
                isAcceptor: true,
                answer.Features);
        }
        finally
        {
            if (link is null)
            {
                own?.Dispose();
                peer.Dispose();
                signal?.Dispose();
            }
        }
    }

    // A failure here is this side's, whatever its reason; only one of the client's handles is the client's.
    private static (SharedSegment Own, Signal Signal) CreateOwn(ConnectionSettings settings, Hello hello)
    {
        SharedSegment? own = null;
        Signal? signal = null;
        try
        {
            signal = HostSystem.Current.CreateSignal();
            own = SharedSegment.Create(settings.Limits.RingCapacity, hello.ConnectionId);
            return (own, signal);
        }
        catch (SegmentException exception)
        {
            throw new SegmentException(exception.Message, exception) { IsShortage = true };
        }
        finally
        {
            if (own is null)
            {
                signal?.Dispose();
            }
        }
    }

    private static PeerLink? SendRefusal(
        Wire wire, ConnectionSettings settings, RefusalReason reason, string text)
    {
        Handshake.TrySendRefusal(wire, settings.Purpose, reason, text);
        ForeignHandles.Shared.Close(wire);
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
