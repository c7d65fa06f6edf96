using Microsoft.Extensions.Logging.Abstractions;
using RpcOverShm.Diagnostics;
using RpcOverShm.Protocol;
using RpcOverShm.Segments;
using RpcOverShm.Systems;

namespace RpcOverShm.Links;

/// <summary>
/// The client's half of the handshake: connects to the server and exchanges hellos and segments, within a time
/// limit. Holds no state; an attempt owns the wire, the segment and the signal until the
/// link owns them.
/// </summary>
internal static class ClientHandshake
{
    /// <summary>Connects to the server at an address.</summary>
    /// <exception cref="ConnectException">The attempt failed; its <c>Failure</c> tells why.</exception>
    /// <exception cref="OperationCanceledException">The caller's token was cancelled.</exception>
    /// <exception cref="PlatformNotSupportedException">There is no transport for this system.</exception>
    public static Task<PeerLink> ConnectAsync(
        RendezvousAddress address, ConnectionSettings settings, CancellationToken cancellationToken) =>
        settings.IsPlatformSupported
            ? ConnectCoreAsync(
                address,
                settings,
                Take,
                cancellationToken)
            : Task.FromException<PeerLink>(HostSystem.NotSupported());

    /// <summary>Opens the statistics of the server at an address, whose user must be this process's or root.</summary>
    /// <param name="address">The address.</param>
    /// <param name="timeout">The time limit.</param>
    /// <param name="cancellationToken">Stops the attempt.</param>
    /// <exception cref="ConnectException">
    /// There is no server, or it lets this process not read them, or it has none (PurposeMismatch).
    /// </exception>
    /// <exception cref="OperationCanceledException">The caller's token was cancelled.</exception>
    /// <exception cref="PlatformNotSupportedException">There is no transport for this system.</exception>
    public static Task<StatisticsReader> OpenStatisticsAsync(
        RendezvousAddress address, TimeSpan timeout, CancellationToken cancellationToken)
    {
        // Nothing but the purpose matters: no call and no byte goes over this connection.
        var settings = new ConnectionSettings
        {
            Purpose = ConnectionPurpose.Statistics,
            Limits = new PeerLimits(SegmentLayout.MinRingCapacityBytes, PeerLimits.SmallestCallWindow, 0, 0),
            ConnectTimeout = timeout,
            Logger = NullLogger.Instance,
        };
        return settings.IsPlatformSupported
            ? ConnectCoreAsync(
                address,
                settings,
                static (answer, _) =>
                {
                    var reader = new StatisticsReader(answer.Wire, answer.Message.OpenPage(), answer.Server);
                    answer.Own.Dispose(); // A hello has both; those of a reader are for nothing else.
                    answer.Signal.Dispose();
                    return reader;
                },
                cancellationToken)
            : Task.FromException<StatisticsReader>(HostSystem.NotSupported());
    }

    private static async Task<T> ConnectCoreAsync<T>(
        RendezvousAddress address,
        ConnectionSettings settings,
        Func<Answer, ConnectionSettings, T> take,
        CancellationToken cancellationToken)
    {
        using var timeout = CancellationTokenSource.CreateLinkedTokenSource(cancellationToken);
        timeout.CancelAfter(settings.ConnectTimeout);
        Wire? wire = null;
        SharedSegment? own = null;
        Signal? signal = null;
        IOException? unsent = null;
        try
        {
            address = address.Resolve();
            wire = await HostSystem.Current.ConnectAsync(address, settings.Logger, timeout.Token).ConfigureAwait(false);
            PeerIdentity server = CheckOwner(wire, settings, address);
            var id = Guid.NewGuid();
            own = SharedSegment.Create(settings.Limits.RingCapacity, id);
            signal = HostSystem.Current.CreateSignal();
            unsent = SendHello(wire, settings, id, own, signal);
            own.ReleaseHandle();
            using Handshake.ReceivedHello answer =
                await ReceiveAnswerAsync(wire, address, unsent, timeout.Token).ConfigureAwait(false);
            Handshake.RefuseHandlesUnlessAgreed(wire, answer.Hello, settings);
            Check(answer.Hello, settings, id, address);
            T taken = take(new Answer(wire, own, signal, server, answer), settings);
            wire = null;
            own = null;
            signal = null;
            return taken;
        }
        catch (OperationCanceledException) when (!cancellationToken.IsCancellationRequested)
        {
            throw new ConnectException(
                ConnectFailure.TimedOut,
                $"The server at {address.Name} did not answer within {settings.ConnectTimeout.TotalSeconds:0.###} s."
                    + Tell(unsent));
        }
        catch (Exception exception) when (exception is SegmentException or IOException)
        {
            throw new ConnectException(
                ConnectFailure.SystemError, $"Cannot connect to {address.Name}: {exception.Message}", exception);
        }
        finally
        {
            if (wire is not null)
            {
                ForeignHandles.Shared.Close(wire);
            }

            own?.Dispose();
            signal?.Dispose();
        }
    }

    private static PeerLink Take(Answer answer, ConnectionSettings settings)
    {
        Handshake.ReceivedHello message = answer.Message;
        SharedSegment peer = message.OpenSegment();
        try
        {
            message.Connect(answer.Signal, answer.Own, peer);
        }
        catch
        {
            peer.Dispose();
            throw;
        }

        return new PeerLink(
            answer.Wire,
            answer.Own,
            peer,
            answer.Signal,
            answer.Server,
            message.Hello.ConnectionId,
            settings,
            message.Hello.Limits,
            isAcceptor: false,
            message.Hello.Features);
    }

    private static PeerIdentity CheckOwner(Wire wire, ConnectionSettings settings, RendezvousAddress address)
    {
        PeerIdentity server = wire.Peer;
        if (settings.Access.Admits(server, wire))
        {
            return server;
        }

        throw new ConnectException(
            ConnectFailure.AccessDenied,
            $"The server at {address.Name} is {server}, and this client trusts servers {settings.Access.Describe()} "
            + "only: run client and server as the same user, or name the server's user in TrustedServerUsers.");
    }

    // Returns the failure of a send to which the server may have an answer.
    private static IOException? SendHello(
        Wire wire, ConnectionSettings settings, Guid id, SharedSegment own, Signal signal)
    {
        var hello = new Hello
        {
            Type = HelloType.Client,
            Purpose = settings.Purpose,
            Features = settings.Features,
            ConnectionId = id,
            Limits = settings.Limits,
        };
        try
        {
            Handshake.Send(wire, hello, own, signal);

            // CRASH hello-sent: the server, which reads the hello or answers it, gets the end of the wire instead.
            CrashPoint.Reach(CrashPoint.HelloSent);
            return null;
        }
        catch (IOException exception)
        {
            // A server that closes without reading may have sent a refusal first, so the caller still reads the answer.
            return exception;
        }
    }

    private static string Tell(IOException? unsent) =>
        unsent is null ? "" : $" The hello could not be sent: {unsent.Message}";

    private static async Task<Handshake.ReceivedHello> ReceiveAnswerAsync(
        Wire wire, RendezvousAddress address, IOException? unsent, CancellationToken token)
    {
        Handshake.ReceivedHello? answer;
        try
        {
            answer = await Handshake.ReceiveAsync(wire, token).ConfigureAwait(false);
        }
        catch (ProtocolException exception)
        {
            throw new ConnectException(
                ConnectFailure.NotThisProtocol,
                $"What listens at {address.Name} is no RpcOverShm server: {exception.Message}",
                exception);
        }
        catch (IOException exception)
        {
            throw new ConnectException(
                ConnectFailure.Refused,
                $"The server at {address.Name} closed in the handshake: {exception.Message}.{Tell(unsent)}",
                exception);
        }

        if (answer is { Hello.Type: HelloType.Server })
        {
            return answer;
        }

        answer?.Dispose();
        throw answer is null
            ? new ConnectException(
                ConnectFailure.Refused,
                $"The server at {address.Name} closed the connection without an answer.{Tell(unsent)}")
            : Refused(answer.Hello, address);
    }

    private static ConnectException Refused(Hello refusal, RendezvousAddress address)
    {

        ConnectFailure failure = refusal.RefusalReason switch
        {
            RefusalReason.Version => ConnectFailure.VersionMismatch,
            RefusalReason.Purpose => ConnectFailure.PurposeMismatch,
            RefusalReason.AccessDenied => ConnectFailure.AccessDenied,
            _ => refusal.Type == HelloType.Refusal ? ConnectFailure.Refused : ConnectFailure.NotThisProtocol,
        };
        string own = failure == ConnectFailure.VersionMismatch ? $" This client is {ProtocolVersion.Package}." : "";
        string reason = PeerText.Escape(refusal.RefusalText, PeerText.LongestSentence);
        return new ConnectException(failure, $"The server at {address.Name} refused: {reason}{own}");
    }

    private static void Check(Hello hello, ConnectionSettings settings, Guid id, RendezvousAddress address)
    {
        if (ProtocolVersion.Negotiate(hello.LowestVersion, hello.HighestVersion) is null)
        {
            throw new ConnectException(
                ConnectFailure.VersionMismatch,
                $"The server at {address.Name} chose protocol version {hello.HighestVersion}; "
                + $"this client, {ProtocolVersion.Package}, speaks {ProtocolVersion.Own}. "
                + (hello.HighestVersion > ProtocolVersion.Highest ? "Update the client." : "Update the server."));
        }

        string? problem = hello.Purpose != settings.Purpose || hello.ConnectionId != id
            ? "an answer to another hello"
            : (hello.Features & ~settings.Features) != 0
            ? $"features 0x{hello.Features:X}, of which the client has offered 0x{settings.Features:X}"
            : Handshake.Check(hello);
        if (problem is not null)
        {
            throw new ConnectException(
                ConnectFailure.NotThisProtocol, $"The server at {address.Name} announced {problem}.");
        }

        if (Handshake.CheckPeerRing(hello, settings, "server") is { } excess)
        {
            throw new ConnectException(ConnectFailure.Refused, $"Cannot connect to {address.Name}: {excess}");
        }
    }

    /// <summary>A server's hello that was checked, with what the client then owns.</summary>
    private readonly record struct Answer(
        Wire Wire, SharedSegment Own, Signal Signal, PeerIdentity Server, Handshake.ReceivedHello Message);
}
