using System.Net.Sockets;
using System.Runtime.Versioning;
using Microsoft.Extensions.Logging.Abstractions;
using RpcOverShm.Diagnostics;
using RpcOverShm.Protocol;
using RpcOverShm.Segments;

namespace RpcOverShm.Links;

/// <summary>
/// The client's half of the handshake: connects to the server's socket and exchanges hellos and segments, within a time
/// limit. Holds no state; an attempt owns the socket and the segment until the link owns them.
/// </summary>
internal static class ClientHandshake
{
    // The pause before the next attempt when the server's backlog is full.
    private static readonly TimeSpan s_retryPause = TimeSpan.FromMilliseconds(2);

    /// <summary>Connects to the server at an address.</summary>
    /// <exception cref="ConnectException">The attempt failed; its <c>Failure</c> tells why.</exception>
    /// <exception cref="OperationCanceledException">The caller's token was cancelled.</exception>
    /// <exception cref="PlatformNotSupportedException">There is no transport for this system.</exception>
    public static Task<PeerLink> ConnectAsync(
        RendezvousAddress address, ConnectionSettings settings, CancellationToken cancellationToken) =>
        settings.IsPlatformSupported
            ? ConnectOnLinuxAsync(
                address,
                settings,
                static (answer, settings) => new PeerLink(
                    answer.Socket,
                    answer.Own,
                    answer.Message.OpenSegment(),
                    answer.Server,
                    answer.Message.Hello.ConnectionId,
                    settings,
                    answer.Message.Hello.Limits,
                    isAcceptor: false),
                cancellationToken)
            : Task.FromException<PeerLink>(ConnectionSettings.NotSupported());

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
            ? ConnectOnLinuxAsync(
                address,
                settings,
                static (answer, _) =>
                {
                    var reader = new StatisticsReader(answer.Socket, answer.Message.OpenPage(), answer.Server);
                    answer.Own.Dispose(); // A hello has one; that of a reader is for nothing else.
                    return reader;
                },
                cancellationToken)
            : Task.FromException<StatisticsReader>(ConnectionSettings.NotSupported());
    }

    [SupportedOSPlatform("linux")]
    private static async Task<T> ConnectOnLinuxAsync<T>(
        RendezvousAddress address,
        ConnectionSettings settings,
        Func<Answer, ConnectionSettings, T> take,
        CancellationToken cancellationToken)
    {
        using var timeout = CancellationTokenSource.CreateLinkedTokenSource(cancellationToken);
        timeout.CancelAfter(settings.ConnectTimeout);
        Socket? socket = null;
        SharedSegment? own = null;
        IOException? unsent = null;
        try
        {
            address = address.Resolve();
            address.Default?.ReportOnce(settings.Logger);
            socket = new Socket(AddressFamily.Unix, SocketType.Stream, ProtocolType.Unspecified);
            SocketCalls.ReadUrgentInline(socket);
            await ConnectSocketAsync(socket, address, timeout.Token).ConfigureAwait(false);
            PeerIdentity server = CheckOwner(socket, settings, address);
            var id = Guid.NewGuid();
            own = SharedSegment.Create(settings.Limits.RingCapacity, id);
            unsent = SendHello(socket, settings, id, own);
            own.ReleaseDescriptor();
            using Handshake.ReceivedHello answer =
                await ReceiveAnswerAsync(socket, address, unsent, timeout.Token).ConfigureAwait(false);
            SocketCalls.RefuseDescriptors(socket);
            Check(answer.Hello, settings, id, address);
            T taken = take(new Answer(socket, own, server, answer), settings);
            socket = null;
            own = null;
            return taken;
        }
        catch (OperationCanceledException) when (!cancellationToken.IsCancellationRequested)
        {
            throw new ConnectException(
                ConnectFailure.TimedOut,
                $"The server at {address.Name} did not answer within {settings.ConnectTimeout.TotalSeconds:0.###} s."
                    + Tell(unsent));
        }
        catch (Exception exception) when (exception is SegmentException or IOException or SocketException)
        {
            throw new ConnectException(
                ConnectFailure.SystemError, $"Cannot connect to {address.Name}: {exception.Message}", exception);
        }
        finally
        {
            if (socket is not null)
            {
                ForeignHandles.Shared.Close(socket);
            }

            own?.Dispose();
        }
    }

    private static async Task ConnectSocketAsync(Socket socket, RendezvousAddress address, CancellationToken token)
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
    private static string Explain(SocketException exception, RendezvousAddress address) =>
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

    private static string ExplainDenied(RendezvousAddress address)
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

    private static PeerIdentity CheckOwner(Socket socket, ConnectionSettings settings, RendezvousAddress address)
    {
        PeerIdentity server = PeerIdentity.Of(socket);
        if (settings.Access.Admits(server, socket))
        {
            return server;
        }

        uint me = LinuxNative.GetEffectiveUserId();
        throw new ConnectException(
            ConnectFailure.AccessDenied,
            $"The server at {address.Name} is {server}, and this client trusts servers {settings.Access.Describe(me)} "
            + "only: run client and server as the same user, or name the server's user in TrustedServerUsers.");
    }

    // Returns the failure of a send to which the server may have an answer.
    private static IOException? SendHello(Socket socket, ConnectionSettings settings, Guid id, SharedSegment own)
    {
        var hello = new Hello
        {
            Type = HelloType.Client,
            Purpose = settings.Purpose,
            Features = Hello.KnownFeatures,
            ConnectionId = id,
            Limits = settings.Limits,
        };
        try
        {
            Handshake.Send(socket, hello, own);
            return null;
        }
        catch (IOException exception) when (exception.HResult == LinuxNative.ErrnoETOOMANYREFS)
        {
            throw new ConnectException(
                ConnectFailure.SystemError,
                "Cannot pass the shared memory to the server: the processes of user "
                    + $"{LinuxNative.GetEffectiveUserId()} have as many descriptors on their way through sockets as "
                    + "one of them may open (ETOOMANYREFS). Find the process of this user that sends descriptors "
                    + "nobody receives, or raise the limit of open files (ulimit -n).",
                exception);
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
        Socket socket, RendezvousAddress address, IOException? unsent, CancellationToken token)
    {
        Handshake.ReceivedHello? answer;
        try
        {
            answer = await Handshake.ReceiveAsync(socket, token).ConfigureAwait(false);
        }
        catch (ProtocolException exception)
        {
            throw new ConnectException(
                ConnectFailure.NotThisProtocol,
                $"What listens at {address.Name} is no RpcOverShm server: {exception.Message}",
                exception);
        }
        catch (Exception exception) when (exception is SocketException or IOException)
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
            : (hello.Features & ~Hello.KnownFeatures) != 0
            ? $"features 0x{hello.Features:X}, of which the client has offered 0x{Hello.KnownFeatures:X}"
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
        Socket Socket, SharedSegment Own, PeerIdentity Server, Handshake.ReceivedHello Message);
}
