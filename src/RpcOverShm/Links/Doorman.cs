using System.Diagnostics;
using System.Net.Sockets;
using Microsoft.Win32.SafeHandles;
using RpcOverShm.Diagnostics;
using RpcOverShm.Protocol;
using RpcOverShm.Scheduling;
using RpcOverShm.Segments;

namespace RpcOverShm.Links;

/// <summary>
/// Accepts a listener's clients, reads their hellos and answers them, on the loop of the doors: without the thread
/// pool, so that neither a silent client nor a busy pool shuts others out. Nothing here waits for a peer or runs user
/// code: <see cref="ForeignHandles"/> closes sockets and descriptors, log entries are deferred, and the pool looks
/// after the file. All listeners of the process share the thread, so each turn is short.
/// </summary>
internal sealed partial class Doorman : DescriptorSource
{
    private const string TimeoutOption = "HandshakeTimeout"; // the public option

    // The clients that are accepted before other sources of the loop have their turn.
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
    private Socket _socket;         // that is watched: the file may have another one already
    private SafeFileHandle? _spare; // given up to accept one client when no descriptor is free
    private TimeSpan _acceptAt;     // not before
    private TimeSpan _checkFileAt;
    private bool _isHeld;           // clients may wait that could not be accepted yet
    private bool _isClosingFull;    // has been reported
    private volatile FileCheck _check; // by a thread of the pool
    private volatile bool _isStopping;

    public Doorman(ListeningFile file, ConnectionSettings settings, Action<PeerLink> onConnected)
    {
        _file = file;
        _socket = file.Socket;
        _settings = settings;
        _onConnected = onConnected;
        _places = new ConnectionPlaces(settings.Door);
        _pending = new PendingClients(settings.Door.MaxPendingHandshakes, settings.ConnectTimeout);
        _checkFileAt = ListeningFile.CheckInterval;
    }

    /// <summary>Completes when the last client is refused and nothing of the doorman runs any more.</summary>
    public Task Ended => _ended.Task;

    private TimeSpan Now => Stopwatch.GetElapsedTime(_start);

    private bool IsWatching => _socket == _file.Socket;

    private bool HasRoom => _pending.UntilRoom(Now) == TimeSpan.Zero;

    /// <summary>Begins to accept clients. Returns null on success, else the reason.</summary>
    public string? TryStart()
    {
        // The first run sets the first due time.
        Request();
        return Watch(EventLoop.Door, _socket.SafeHandle);
    }

    /// <summary>Lets the doorman end soon; <see cref="Ended"/> tells when.</summary>
    public void Stop()
    {
        _isStopping = true;
        _file.EndListening();
        Request();
    }

    protected override void OnReady()
    {
        TimeSpan? due = s_pause;
        try
        {
            Turn();

            // A stop waits for the check of the file, which requests this: due times would keep the thread busy.
            due = _isStopping ? null : UntilDue();
        }
        catch (Exception exception)
        {
            // The failure of one turn must not shut all later clients out. The pause avoids a hot loop.
            _acceptAt = Now + s_pause;
            _isHeld = true;
            LogFailed(exception);
        }

        if (due is { } time && !IsRemoved)
        {
            Loop!.RequestAt(this, DueTime.After(time));
        }
    }

    private void Turn()
    {
        if (_isStopping)
        {
            RefusePending();

            // A check that runs may still make files. It requests this when it is over.
            if (Interlocked.CompareExchange(ref _check, FileCheck.None, FileCheck.Queued) != FileCheck.Running)
            {
                End();
            }

            return;
        }

        RefuseOverdue();
        WatchNewSocket();
        if (Now >= _checkFileAt)
        {
            _checkFileAt = Now + ListeningFile.CheckInterval;
            CheckFile();
        }

        _isHeld = !MayAccept();
        if (!_isHeld)
        {
            AcceptSome();
        }
    }

    // A hello may have come while this thread had no processor: it is looked at once more. One that has is all that a
    // turn answers here, because a connection takes time.
    private void RefuseOverdue()
    {
        while (_pending.FindOverdue(Now) is { } overdue)
        {
            Read(overdue);
            if (!_pending.Remove(overdue))
            {
                Request();
                return;
            }

            LimitEvents.Count(TimeoutOption);
            Refuse(
                overdue,
                RefusalReason.BadHello,
                $"No hello came in time: {TimeoutOption} is {_settings.ConnectTimeout.TotalSeconds} s, "
                + "and less while many clients connect.");
        }
    }

    // Not here, because a file system may not answer: that would keep all listeners and handshakes of the process.
    private void CheckFile()
    {
        // A socket that is not watched yet is not given up for the next one: nobody would close it.
        if (_check == FileCheck.None && IsWatching)
        {
            _check = FileCheck.Queued;
            PoolWork.Queue(static doorman => doorman.RunCheck(), this);
        }
    }

    private void RunCheck()
    {
        if (Interlocked.CompareExchange(ref _check, FileCheck.Running, FileCheck.Queued) != FileCheck.Queued)
        {
            return; // The doorman has stopped.
        }

        try
        {
            _file.Check();
        }
        catch (Exception exception)
        {
            LogFailed(exception);
        }

        // StoreLoad: the check is over before this thread looks for a stop. A stop is noted before the doorman runs.
        Interlocked.Exchange(ref _check, FileCheck.None);
        if (_isStopping || !IsWatching)
        {
            Request();
        }
    }

    private void RefusePending()
    {
        while (_pending.Count > 0)
        {
            PendingClient client = _pending[0];
            _pending.Remove(client);
            Refuse(client, RefusalReason.Stopping, "The server is stopping.");
        }
    }

    private void End()
    {
        _spare?.Dispose();
        EndWatch();
        if (!IsWatching)
        {
            ForeignHandles.Shared.Close(_socket); // The file closes its own.
        }

        _ended.SetResult();
    }

    // After the file was made anew. Without memory for it in the system, clients are looked for in short pauses.
    private void WatchNewSocket()
    {
        Socket next = _file.Socket;
        if (next != _socket && Watch(Loop!, next.SafeHandle) is null)
        {
            // The backlog may hold descriptors of clients.
            ForeignHandles.Shared.Close(_socket);
            _socket = next;
        }
    }

    private TimeSpan UntilDue()
    {
        TimeSpan now = Now;
        TimeSpan least = Least(_checkFileAt - now, _pending.UntilOverdue(now) ?? TimeSpan.MaxValue);
        if (_isHeld)
        {
            TimeSpan pause = _acceptAt - now;
            TimeSpan untilRoom = _pending.UntilRoom(now);
            least = Least(least, untilRoom > pause ? untilRoom : pause);
        }

        return IsWatching ? least : Least(least, s_pause);
    }

    private static TimeSpan Least(TimeSpan one, TimeSpan other) => one < other ? one : other;

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

    private void AcceptSome()
    {
        for (int i = 0; i < MaxAcceptedPerTurn && HasRoom; i++)
        {
            if (SocketCalls.TryAccept(_socket, out int errno) is { } socket)
            {
                Greet(socket);
            }
            else if (errno == LinuxNative.ErrnoEAGAIN)
            {
                _pending.OnQueueEmpty();
                return;
            }
            else
            {
                OnAcceptFailed(errno);
                break;
            }
        }

        // The socket tells once of all who wait there.
        _isHeld = !HasRoom || Now < _acceptAt;
        if (!_isHeld)
        {
            Request();
        }
    }

    private void OnAcceptFailed(int errno)
    {
        if (errno is LinuxNative.ErrnoEMFILE or LinuxNative.ErrnoENFILE)
        {
            RefuseWithSpare();
        }
        else if (errno != LinuxNative.ErrnoEINTR && !_isStopping)
        {
            _acceptAt = Now + s_pause;
            LogFailed(new SocketException(errno));
        }
    }

    private void LogFailed(Exception exception) =>
        DeferredLog.Write(_settings.Logger, log => ShmLog.AcceptFailed(log, _file.Address.Text, exception));

    // No descriptor is free. Without an answer the clients in the backlog would wait until their time is over.
    private void RefuseWithSpare()
    {
        _spare?.Dispose();
        _spare = null;
        if (SocketCalls.TryAccept(_socket, out _) is { } socket)
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

        if (_pending.FindLoser(Now) is { } loser)
        {
            Read(loser); // once more, as above
            if (_pending.TakeOut(loser))
            {
                RefuseSilent(loser);
            }
        }

        var client = new PendingClient(socket, identity, Now, OnReadable);
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

    private enum FileCheck : byte
    {
        None,
        Queued,
        Running,
    }
}
