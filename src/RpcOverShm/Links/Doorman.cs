using System.Diagnostics;
using RpcOverShm.Diagnostics;
using RpcOverShm.Protocol;
using RpcOverShm.Scheduling;
using RpcOverShm.Systems;

namespace RpcOverShm.Links;

/// <summary>
/// Accepts a listener's clients, reads their hellos and answers them, on the loop of the doors: without the thread
/// pool, so that neither a silent client nor a busy pool shuts others out. Nothing here waits for a peer or runs user
/// code: <see cref="ForeignHandles"/> closes sockets and descriptors, log entries are deferred, and the pool looks
/// after the file. All listeners of the process share the thread, so each turn is short.
/// </summary>
internal sealed partial class Doorman : WatchableSource
{
    private const string TimeoutOption = "HandshakeTimeout"; // the public option

    // The clients that are accepted before other sources of the loop have their turn.
    private const int MaxAcceptedPerTurn = 16;

    // The pause after a failure to accept, and until the next look whether some handles of peers were closed.
    private static readonly TimeSpan s_pause = TimeSpan.FromMilliseconds(10);

    private readonly Door _door;
    private readonly ConnectionSettings _settings;
    private readonly Action<PeerLink> _onConnected;
    private readonly ConnectionPlaces _places;
    private readonly PendingClients _pending;
    private readonly TaskCompletionSource _ended = new(TaskCreationOptions.RunContinuationsAsynchronously);
    private readonly long _start = Stopwatch.GetTimestamp();
    private Watchable _listening;  // that is watched: the door may have another one already
    private TimeSpan _acceptAt;    // not before
    private TimeSpan _checkAt;
    private bool _isHeld;          // clients may wait that could not be accepted yet
    private bool _isClosingFull;   // has been reported
    private volatile DoorCheck _check; // by a thread of the pool
    private volatile bool _isStopping;

    public Doorman(Door door, ConnectionSettings settings, Action<PeerLink> onConnected)
    {
        _door = door;
        _listening = door.Listening;
        _settings = settings;
        _onConnected = onConnected;
        _places = new ConnectionPlaces(settings.Door);
        _pending = new PendingClients(settings.Door.MaxPendingHandshakes, settings.ConnectTimeout);
        _checkAt = Door.CheckInterval;
    }

    /// <summary>Completes when the last client is refused and nothing of the doorman runs any more.</summary>
    public Task Ended => _ended.Task;

    private TimeSpan Now => Stopwatch.GetElapsedTime(_start);

    private bool IsWatching => _listening == _door.Listening;

    private bool HasRoom => _pending.UntilRoom(Now) == TimeSpan.Zero;

    /// <summary>Begins to accept clients. Returns null on success, else the reason.</summary>
    public string? TryStart()
    {
        // The first run sets the first due time.
        Request();
        return Watch(EventLoop.Door, _listening);
    }

    /// <summary>Lets the doorman end soon; <see cref="Ended"/> tells when.</summary>
    public void Stop()
    {
        _isStopping = true;
        _door.EndListening();
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
            if (Interlocked.CompareExchange(ref _check, DoorCheck.None, DoorCheck.Queued) != DoorCheck.Running)
            {
                End();
            }

            return;
        }

        RefuseOverdue();
        WatchAgain();
        if (Now >= _checkAt)
        {
            _checkAt = Now + Door.CheckInterval;
            CheckDoor();
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
    private void CheckDoor()
    {
        // A socket that is not watched yet is not given up for the next one: nobody would close it.
        if (_check == DoorCheck.None && IsWatching)
        {
            _check = DoorCheck.Queued;
            PoolWork.Queue(static doorman => doorman.RunCheck(), this);
        }
    }

    private void RunCheck()
    {
        if (Interlocked.CompareExchange(ref _check, DoorCheck.Running, DoorCheck.Queued) != DoorCheck.Queued)
        {
            return; // The doorman has stopped.
        }

        try
        {
            _door.Check();
        }
        catch (Exception exception)
        {
            LogFailed(exception);
        }

        // StoreLoad: the check is over before this thread looks for a stop. A stop is noted before the doorman runs.
        Interlocked.Exchange(ref _check, DoorCheck.None);
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
        EndWatch();
        if (!IsWatching)
        {
            _door.CloseFormer(_listening); // The door closes its own.
        }

        _ended.SetResult();
    }

    // After the door has listened again. Without memory for it in the system, clients are looked for in short pauses.
    private void WatchAgain()
    {
        Watchable next = _door.Listening;
        if (next != _listening && Watch(Loop!, next) is null)
        {
            _door.CloseFormer(_listening);
            _listening = next;
        }
    }

    private TimeSpan UntilDue()
    {
        TimeSpan now = Now;
        TimeSpan least = Least(_checkAt - now, _pending.UntilOverdue(now) ?? TimeSpan.MaxValue);
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
        _door.KeepSpare();
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
                "No clients are accepted until handles of earlier peers could be closed.");
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
            if (_door.TryAccept(_listening, out AcceptOutcome outcome, out Exception? failure) is { } wire)
            {
                Greet(wire);
            }
            else if (outcome == AcceptOutcome.NoneWaits)
            {
                _pending.OnQueueEmpty();
                return;
            }
            else
            {
                OnAcceptFailed(outcome, failure);
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

    private void OnAcceptFailed(AcceptOutcome outcome, Exception? failure)
    {
        if (outcome == AcceptOutcome.NoHandleFree)
        {
            RefuseWithSpare();
        }
        else if (outcome == AcceptOutcome.Failed && !_isStopping)
        {
            _acceptAt = Now + s_pause;
            LogFailed(failure!);
        }
    }

    private void LogFailed(Exception exception) =>
        DeferredLog.Write(_settings.Logger, log => ShmLog.AcceptFailed(log, _door.Address.Text, exception));

    // No descriptor is free. Without an answer the clients in the backlog would wait until their time is over.
    private void RefuseWithSpare()
    {
        if (_door.TryAcceptWithSpare(_listening) is { } wire)
        {
            if (TryAdmit(wire) is not null)
            {
                RefuseFull(wire, new ReachedLimit(
                    HostSystem.Current.MaxHandlesName,
                    HostSystem.Current.MaxHandles,
                    "the server process has no descriptor free"));
            }
        }
        else
        {
            _acceptAt = Now + s_pause;
        }
    }

    private void Greet(Wire wire)
    {
        if (TryAdmit(wire) is not { } identity)
        {
            return;
        }

        if (_places.CheckDescriptors(wire, identity) is { } reached)
        {
            RefuseFull(wire, reached);
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

        var client = new PendingClient(wire, identity, Now, OnReadable);
        _pending.Add(client);
        Read(client);
    }

    /// <summary>Returns the client's identity if it may connect; else it is refused, and its wire closed.</summary>
    private PeerIdentity? TryAdmit(Wire wire)
    {
        try
        {
            PeerIdentity identity = wire.Peer;
            if (_settings.Access.Admits(identity, wire))
            {
                return identity;
            }

            ServerHandshake.Deny(wire, _settings, identity);
        }
        catch (IOException exception)
        {
            ServerHandshake.Refuse(
                wire,
                _settings,
                RefusalReason.AccessDenied,
                $"The server cannot tell who its client is. {exception.Message}");
        }

        return null;
    }

    private enum DoorCheck : byte
    {
        None,
        Queued,
        Running,
    }
}
