using System.Diagnostics;
using System.Net.Sockets;
using Microsoft.Win32.SafeHandles;
using RpcOverShm.Diagnostics;
using RpcOverShm.Protocol;
using RpcOverShm.Segments;

namespace RpcOverShm.Links;

/// <summary>
/// The thread of a listener that accepts clients, reads their hellos and answers them: one thread for all, without the
/// thread pool, so that neither a silent client nor a busy pool shuts others out. Nothing on it waits for a peer or
/// runs user code: <see cref="ForeignHandles"/> closes sockets and descriptors, and log entries are deferred.
/// </summary>
internal sealed class Doorman
{
    private const string ThreadName = "RpcOverShm doorman";
    private const string TimeoutOption = "HandshakeTimeout"; // the public option
    private const int StackBytes = 256 << 10;

    // The clients that are accepted before the others' hellos are looked at.
    private const int MaxAcceptedPerTurn = 16;

    // The pause after a failure to accept, and until the next look whether some handles of peers were closed.
    private static readonly TimeSpan s_pause = TimeSpan.FromMilliseconds(10);

    private readonly ListeningFile _file;
    private readonly ConnectionSettings _settings;
    private readonly Action<PeerLink> _onConnected;
    private readonly ConnectionPlaces _places;
    private readonly PendingClients _pending;
    private readonly TaskCompletionSource _ended = new(TaskCreationOptions.RunContinuationsAsynchronously);
    private readonly long _start = Stopwatch.GetTimestamp();
    private readonly List<PendingClient> _polled = [];
    private LinuxNative.PollEntry[] _entries = new LinuxNative.PollEntry[8];
    private SafeFileHandle? _spare; // given up to accept one client when no descriptor is free
    private TimeSpan _acceptAt;     // not before
    private TimeSpan _checkFileAt;
    private bool _isClosingFull;    // has been reported
    private volatile bool _isStopping;

    public Doorman(ListeningFile file, ConnectionSettings settings, Action<PeerLink> onConnected)
    {
        _file = file;
        _settings = settings;
        _onConnected = onConnected;
        _places = new ConnectionPlaces(settings.Door);
        _pending = new PendingClients(settings.Door.MaxPendingHandshakes, settings.ConnectTimeout);
        _checkFileAt = ListeningFile.CheckInterval;
    }

    /// <summary>Completes when the thread has refused the last client and ended.</summary>
    public Task Ended => _ended.Task;

    private TimeSpan Now => Stopwatch.GetElapsedTime(_start);

    private bool HasRoom => _pending.UntilRoom(Now) == TimeSpan.Zero;

    /// <summary>Starts the thread. Returns null on success, else the reason.</summary>
    public CloseReason? TryStart() => LinkThread.Start(Run, ThreadName, StackBytes);

    /// <summary>Lets the thread end soon; <see cref="Ended"/> tells when.</summary>
    public void Stop()
    {
        _isStopping = true;
        _file.EndListening();
    }

    private void Run()
    {
        while (!_isStopping)
        {
            try
            {
                Turn();
            }
            catch (Exception exception)
            {
                // The failure of one turn must not shut all later clients out. The pause avoids a hot loop.
                SocketCalls.Wait([], (int)s_pause.TotalMilliseconds);
                DeferredLog.Write(_settings.Logger, log => ShmLog.AcceptFailed(log, _file.Address.Text, exception));
            }
        }

        while (_pending.Count > 0)
        {
            PendingClient client = _pending[0];
            _pending.Remove(client);
            Refuse(client, RefusalReason.Stopping, "The server is stopping.");
        }

        _spare?.Dispose();
        _ended.SetResult();
    }

    private void Turn()
    {
        bool mayAccept = MayAccept();
        WaitForEvents(mayAccept);
        if (_isStopping)
        {
            return;
        }

        // The pending clients first: their hellos free places.
        for (int i = 0; i < _polled.Count; i++)
        {
            if (_entries[i + 1].Received != 0)
            {
                Read(_polled[i]);
            }
        }

        while (_pending.TakeOverdue(Now) is { } overdue)
        {
            LimitEvents.Count(TimeoutOption);
            Refuse(
                overdue,
                RefusalReason.BadHello,
                $"No hello came in time: {TimeoutOption} is {_settings.ConnectTimeout.TotalSeconds} s, "
                + "and less while many clients connect.");
        }

        if (mayAccept && _entries[0].Received != 0)
        {
            AcceptSome();
        }
        else if (mayAccept)
        {
            _pending.OnQueueEmpty();
        }

        if (Now >= _checkFileAt)
        {
            _file.Check();
            _checkFileAt = Now + ListeningFile.CheckInterval;
        }
    }

    private bool MayAccept()
    {
        // At the first turn, and after the spare was given up.
        _spare ??= SocketCalls.TryOpenSpare();
        if (Now < _acceptAt || !HasRoom)
        {
            return false;
        }

        bool isFull = ForeignHandles.Shared.IsFull;
        if (isFull && !_isClosingFull)
        {
            LimitEvents.Reached(
                _settings.Logger,
                $"{nameof(ForeignHandles)}.{nameof(ForeignHandles.MaxWaiting)}",
                ForeignHandles.MaxWaiting,
                "No clients are accepted until descriptors and sockets of earlier peers could be closed.");
        }

        _isClosingFull = isFull;
        if (isFull)
        {
            _acceptAt = Now + s_pause;
        }

        return !isFull;
    }

    private void WaitForEvents(bool mayAccept)
    {
        _polled.Clear();
        if (_entries.Length < _pending.Count + 1)
        {
            _entries = new LinuxNative.PollEntry[2 * (_pending.Count + 1)];
        }

        _entries[0] = SocketCalls.EntryOf(mayAccept ? _file.Socket : null);
        for (int i = 0; i < _pending.Count; i++)
        {
            _polled.Add(_pending[i]);
            _entries[i + 1] = SocketCalls.EntryOf(_pending[i].Socket);
        }

        TimeSpan now = Now;
        TimeSpan longest = _checkFileAt - now;
        if (_pending.UntilOverdue(now) is { } overdue && overdue < longest)
        {
            longest = overdue;
        }

        if (!mayAccept)
        {
            TimeSpan pause = _acceptAt - now;
            TimeSpan untilRoom = _pending.UntilRoom(now);
            pause = untilRoom > pause ? untilRoom : pause;
            longest = pause < longest ? pause : longest;
        }

        int milliseconds = longest > TimeSpan.Zero ? (int)longest.TotalMilliseconds + 1 : 0;
        SocketCalls.Wait(_entries.AsSpan(0, _polled.Count + 1), milliseconds);
    }

    private void AcceptSome()
    {
        for (int i = 0; i < MaxAcceptedPerTurn && HasRoom; i++)
        {
            Socket? socket = SocketCalls.TryAccept(_file.Socket, out int errno);
            if (socket is not null)
            {
                Greet(socket);
                continue;
            }

            if (errno == LinuxNative.ErrnoEAGAIN)
            {
                _pending.OnQueueEmpty();
            }
            else if (errno is LinuxNative.ErrnoEMFILE or LinuxNative.ErrnoENFILE)
            {
                RefuseWithSpare();
            }
            else if (errno != LinuxNative.ErrnoEINTR && !_isStopping)
            {
                _acceptAt = Now + s_pause;
                var exception = new SocketException(errno);
                DeferredLog.Write(_settings.Logger, log => ShmLog.AcceptFailed(log, _file.Address.Text, exception));
            }

            return;
        }
    }

    // No descriptor is free. Without an answer the clients in the backlog would wait until their time is over.
    private void RefuseWithSpare()
    {
        _spare?.Dispose();
        _spare = null;
        if (SocketCalls.TryAccept(_file.Socket, out _) is { } socket)
        {
            if (TryAdmit(socket) is not null)
            {
                RefuseFull(socket, new ReachedLimit(
                    "RLIMIT_NOFILE", SocketCalls.MaxDescriptors(), "the server process has no descriptor free"));
            }
        }
        else
        {
            _acceptAt = Now + s_pause;
        }
    }

    private void Greet(Socket socket)
    {
        if (TryAdmit(socket) is not { } identity)
        {
            return;
        }

        if (_places.CheckDescriptors(socket, identity) is { } reached)
        {
            RefuseFull(socket, reached);
            return;
        }

        if (_pending.TakeOut(Now) is { } loser)
        {
            RefuseSilent(loser);
        }

        var client = new PendingClient(socket, identity, Now);
        _pending.Add(client);
        Read(client);
    }

    /// <summary>Returns the client's identity if it may connect; else its socket is closed.</summary>
    private PeerIdentity? TryAdmit(Socket socket)
    {
        try
        {
            PeerIdentity identity = PeerIdentity.Of(socket);
            if (_settings.Access.Admits(identity, socket))
            {
                return identity;
            }

            ServerHandshake.Deny(socket, _settings, identity);
        }
        catch (IOException exception)
        {
            ForeignHandles.Shared.Close(socket);
            DeferredLog.Write(
                _settings.Logger, log => ShmLog.HandshakeBroken(log, exception.Message, exception));
        }

        return null;
    }

    private void Read(PendingClient client)
    {
        PeerLink? link;
        try
        {
            if (!client.Receiver.TryReceive())
            {
                return;
            }

            _pending.Remove(client);
            using Handshake.ReceivedHello? hello = Handshake.Take(client.Receiver);
            link = Answer(client, hello);
        }
        catch (Exception exception)
        {
            _pending.Remove(client);
            OnFailed(client, exception);
            return;
        }

        if (link is not null)
        {
            HandOn(link);
        }
    }

    private PeerLink? Answer(PendingClient client, Handshake.ReceivedHello? hello)
    {
        if (hello is not null)
        {
            return ServerHandshake.Answer(client.Socket, hello, client.Identity, _settings, _places);
        }

        ForeignHandles.Shared.Close(client.Socket);
        DeferredLog.Write(_settings.Logger, log => ShmLog.ClientLeftHandshake(log, client.Identity.ProcessId));
        return null;
    }

    private void HandOn(PeerLink link)
    {
        try
        {
            _onConnected(link);
        }
        catch (Exception exception)
        {
            DeferredLog.Write(
                _settings.Logger,
                log => ShmLog.HandshakeFailed(log, _file.Address.Text, exception.Message, exception));
        }
    }

    private void OnFailed(PendingClient client, Exception exception)
    {
        switch (exception)
        {
            case SegmentException { IsShortage: true }:
                Refuse(client, RefusalReason.NoResources, exception.Message);
                break;
            case ProtocolException or SegmentException:
                Refuse(client, RefusalReason.BadHello, exception.Message);
                break;
            default:
                client.Receiver.Dispose();
                ForeignHandles.Shared.Close(client.Socket);
                bool isPeer = exception is IOException or SocketException;
                DeferredLog.Write(_settings.Logger, log =>
                {
                    if (isPeer)
                    {
                        ShmLog.HandshakeBroken(log, exception.Message, exception);
                    }
                    else
                    {
                        ShmLog.HandshakeFailed(log, _file.Address.Text, exception.Message, exception);
                    }
                });
                break;
        }
    }

    private void Refuse(PendingClient client, RefusalReason reason, string text)
    {
        client.Receiver.Dispose();
        ServerHandshake.Refuse(client.Socket, _settings, reason, text);
    }

    private void RefuseSilent(PendingClient client)
    {
        client.Receiver.Dispose();
        RefuseFull(client.Socket, new ReachedLimit(
            nameof(DoorLimits.MaxPendingHandshakes),
            _settings.Door.MaxPendingHandshakes,
            $"process {client.Identity.ProcessId} sent no hello, and another client needed its place"));
    }

    private void RefuseFull(Socket socket, ReachedLimit reached) =>
        ServerHandshake.RefuseFull(socket, _settings, reached);
}
