using System.Diagnostics;
using RpcOverShm.Diagnostics;
using RpcOverShm.Systems;

namespace RpcOverShm.Scheduling;

/// <summary>
/// An event loop: one thread that serves many sources. It looks at the active ones in rotation and runs those with
/// work. With nothing to do it spins for a moment, parks all of them, and sleeps until a socket tells, or a request
/// comes. A source that was silent for a while is parked earlier, so that a rotation stays short.
/// <para>
/// User code runs on the loop's thread. If it keeps the thread, the watchdog lets a spare thread go on with the loop;
/// the other thread finds that out when the user code returns. The thread starts with the first source, and ends a few
/// seconds after the last one.
/// </para>
/// </summary>
/// <param name="isDoor">
/// Whether its sources make connections, and have none. They run no user code, which would keep newcomers out, and the
/// loop does not spin: their next event is seldom near.
/// </param>
internal sealed partial class EventLoop(bool isDoor = false)
{
    private const string SpareName = "RpcOverShm spare";
    private const int DoorStackBytes = 256 << 10;

    // The limit of threads stuck in user code that has lost the loop.
    private const int MaxStuckThreads = 16;

    // The longest time for which a doorbell waits while other sources have work, but for the run of one of them.
    private const long PollMicroseconds = 50;

    // While doorbells ring, a spin asks for them after looking at so many sources: about each microsecond.
    private const int LooksPerPoll = 48;

    // An active source costs a look in each rotation, and that is often a cache miss. A parked one costs two system
    // calls at its next record, as much as so many looks. So a source is parked after so many in vain.
    private const long LooksPerDoorbell = 200;

    // But not earlier, because short rotations come in bursts.
    private const long LeastSilenceMicroseconds = 1000;

    // A source whose last work is longer ago than such a silence is parked after a shorter one: its next work is
    // probably as far away. So the active sources of a loop with a thousand clients stay few.
    private const long BriefMicroseconds = 100;

    // One wait in so many sleeps while loops share a processor. Measured with 64 awaiting callers. Blocked callers have
    // no such limit: more of them than processors may wait, and then the sleeps cost more than they save.
    private const int MaxSharedWaits = 12;

    private static readonly TimeSpan s_quietTime = TimeSpan.FromMilliseconds(20);
    private static readonly long s_pollTicks = Stopwatch.Frequency * PollMicroseconds / 1_000_000;
    private static readonly long s_briefTicks = Stopwatch.Frequency * BriefMicroseconds / 1_000_000;
    private static readonly long s_leastSilence = Stopwatch.Frequency * LeastSilenceMicroseconds / 1_000_000;

    // Of the loop itself: used by the thread that runs it.
    private readonly List<EventSource> _active = [];
    private readonly List<EventSource> _timed = []; // those with a due time: few
    private readonly List<(EventSource Source, bool HasEnded)> _undrained = []; // sockets that were not read yet
    private readonly EventPoll.Event[] _events = new EventPoll.Event[EventPoll.MostEvents];
    private readonly SpinBudget _spin = new(maxSharedWaits: MaxSharedWaits);
    private EventSource? _current; // the one that is being run; after a take-over, that of the stuck user code
    private int _index;            // of the active source that is being run
    private int _busy;             // sources that had work in this rotation
    private int _wasBusy;          // and in the rotation before
    private long _polledAt;
    private long _parkedAt;
    private long _looks;           // at each active source since then
    private long _silence = s_leastSilence; // how long a source has no work until it is parked, in ticks
    private long _rungAt;
    private long _checkAt;         // when the parked sources are checked next
    private long _dueAt = long.MaxValue; // when a source is due, or earlier
    private int _silences;         // sleeps in a row that ended without an event

    private readonly UninterruptibleLock _lock = new(); // guards the fields below
    private readonly Dictionary<ulong, EventSource> _sources = [];
    private volatile EventPoll? _poll; // woken without the lock
    private SpareThreads? _spares;
    private ulong _lastKey;

    private volatile int _count;      // of the sources
    private volatile int _ringCount;  // of those with a ring
    private volatile EventSource? _posted; // the last request first; one rotation runs them all
    private volatile int _isSleeping; // 1: a post must wake the thread
    private volatile int _isWatched;
    private volatile int _stuck;      // threads in user code that have lost the loop
    private volatile LoopThread? _thread;
    private UserCodeCheck _userCode;  // for the watchdog
    private long _seenRun;
    private long _seenAt;

    /// <summary>The time for which a loop keeps its thread after its last source. Tests shorten it.</summary>
    internal static TimeSpan Linger { get; set; } = TimeSpan.FromSeconds(5);

    /// <summary>
    /// The loop of this process's doors: its listeners, the handshakes of their clients and of its own. Apart from the
    /// others, because user code keeps those, and a newcomer is to be answered meanwhile.
    /// </summary>
    public static EventLoop Door { get; } = new(isDoor: true);

    /// <summary>The number of threads whose user code has lost this loop and has not returned.</summary>
    public int StuckThreads => _stuck;

    /// <summary>Whether so many threads are stuck that no more user code should run on the loop's thread.</summary>
    public bool IsFullOfStuck => _stuck >= MaxStuckThreads;

    /// <summary>
    /// Whether other sources than the running one have had work lately. Used by the loop's own thread.
    /// </summary>
    public bool HasOtherWork => _busy > 1 || _wasBusy > 1;

    private string ThreadName => isDoor ? "RpcOverShm door" : "RpcOverShm loop";

    /// <summary>The number of sources.</summary>
    public int Count => _count;

    /// <summary>The number of sources with a ring: the others have next to no work.</summary>
    public int RingCount => _ringCount;

    /// <summary>
    /// Whether the loop's thread looks at its sources by itself, so that a request costs no system call.
    /// </summary>
    public bool IsAwake => _isSleeping == 0;

    /// <summary>
    /// Begins to serve a source and to watch its socket. Returns null on success, else the reason: the source was not
    /// added.
    /// </summary>
    public string? Add(EventSource source, Watchable watched)
    {
        using (_lock.Enter())
        {
            if (_poll is null && TryStart() is { } problem)
            {
                return problem;
            }

            source.Key = ++_lastKey;
            if (TryPoll(source, watched) is { } reason)
            {
                return reason;
            }

            // Not earlier: a request that finds the loop posts the source, which must then stay. An event that comes
            // meanwhile waits for the lock.
            source.Loop = this;
            _sources.Add(source.Key, source);
            _count = _sources.Count;
            _ringCount += source.HasRing ? 1 : 0;
        }

        // StoreLoad: the loop is stored before this look. A request is stored before its thread looks for the loop.
        Interlocked.MemoryBarrier();
        if (source.IsRequested)
        {
            Post(source);
        }

        return null;
    }

    /// <summary>Watches one more socket for a source of this loop. Returns null on success, else the reason.</summary>
    public string? Watch(EventSource source, Watchable watched)
    {
        using (_lock.Enter())
        {
            return TryPoll(source, watched);
        }
    }

    /// <summary>Stops watching a source's socket. The socket may be closed afterwards.</summary>
    public void Unwatch(Watchable watched)
    {
        using (_lock.Enter())
        {
            _poll?.Remove(watched);
        }
    }

    /// <summary>Ends the service of a source. Its members may still be running on the loop's thread.</summary>
    public void Remove(EventSource source)
    {
        bool isListed;
        using (_lock.Enter())
        {
            isListed = source.IsActive;
            source.SetRemoved();
            _ringCount -= _sources.Remove(source.Key) && source.HasRing ? 1 : 0;
            _count = _sources.Count;
        }

        if (isListed || _count == 0)
        {
            // So that the thread drops it from its list, and ends in time if it was the last one.
            Wake();
        }
    }

    /// <summary>
    /// Requests a source when a time has come, never early, and a little late while other sources run. A later call
    /// replaces the time. Only in a run of the source: the loop then looks at the time before it sleeps.
    /// </summary>
    /// <param name="source">A source of this loop.</param>
    /// <param name="at">A time stamp, such as <see cref="DueTime.After"/> returns.</param>
    public void RequestAt(EventSource source, long at)
    {
        if (!_timed.Contains(source))
        {
            _timed.Add(source);
        }

        source.DueAt = at;
        _dueAt = Math.Min(_dueAt, at);
    }

    /// <summary>
    /// Adds a source that was requested to the loop's list. Without an allocation, for which there may be no memory:
    /// the source would then be requested for ever.
    /// </summary>
    internal void Post(EventSource source)
    {
        if (source.TryBePosted())
        {
            // Compared with a local: once the source is linked, the loop may take it, and another thread post it again.
            EventSource? before;
            do
            {
                before = _posted;
                source.PostedBefore = before;
            }
            while (Interlocked.CompareExchange(ref _posted, source, before) != before);
        }

        Wake();
    }

    /// <summary>Marks the beginning of user code on the loop's thread.</summary>
    internal void BeginUserCode(LoopThread me)
    {
        me.BeginRun();

        // Asymmetric fence: a watchdog that stops watching clears this flag, and then looks for a run once more.
        if (_isWatched == 0)
        {
            EnsureWatched();
        }
    }

    /// <summary>Marks the end of user code. Returns false if another thread runs the loop now.</summary>
    internal bool EndUserCode(LoopThread me)
    {
        if (me.EndRun())
        {
            return true;
        }

        using (_lock.Enter())
        {
            return !me.HasLostLoop;
        }
    }

    // The caller holds the lock.
    private string? TryPoll(EventSource source, Watchable watched) =>
        _poll!.Add(watched, source.Key) is { } reason
            ? $"The system does not watch one more socket: {reason}."
            : null;

    private void Wake()
    {
        // StoreLoad: the post precedes the check. A thread that goes to sleep sets the flag and then looks for posts.
        Interlocked.MemoryBarrier();
        if (_isSleeping != 0 && Interlocked.Exchange(ref _isSleeping, 0) != 0)
        {
            try
            {
                _poll?.Wake();
            }
            catch (ObjectDisposedException)
            {
                // The sleep has timed out meanwhile, and the thread has ended because there is no source any more.
            }
        }
    }

    /// <summary>
    /// Runs the loop. Returns true when it has no source any more, false if it was lost to another thread.
    /// </summary>
    private bool RunUntilLost(LoopThread me)
    {
        BeginToRun(me);

        // Read after work and not before it: the clock would delay the answer. So it may be late by a spin.
        long now = Stopwatch.GetTimestamp();
        BeginToCountLooks(now);
        while (true)
        {
            AddPosted();
            if (now - _polledAt > s_pollTicks)
            {
                _ = Poll(0);
            }

            // Here and not after a sleep only: a source that always has work must not keep the others from the check.
            if (_polledAt >= _checkAt)
            {
                CheckParked();
            }

            if (_polledAt >= _dueAt)
            {
                RequestDue();
            }

            if (!TryRotate(me, ref now, out bool hasWorked))
            {
                return false;
            }

            DrainSockets();
            if (hasWorked)
            {
                ParkSilent(now);
                continue;
            }

            if (!Rest(now))
            {
                return true;
            }
        }
    }

    private void BeginToRun(LoopThread me)
    {
        using (_lock.Enter())
        {
            _thread = me;
        }

        if (_current is { } stuck)
        {
            // The rotation goes on behind the source whose user code is stuck, or the others would never have a turn.
            _current = null;
            _index++;
            stuck.OnLoopLost();
        }
    }

    /// <summary>Spins, and then sleeps, until there may be work. Returns false if the thread must end.</summary>
    private bool Rest(long now)
    {
        // While doorbells ring, another one is likely; else a system call would delay the answer to the only client.
        long since = 0;
        bool isRinging = _ringCount > _active.Count && now - _rungAt < s_leastSilence;
        if (!isDoor && _active.Count > 0 && _spin.SpinUntil(new Condition(this, isRinging), out since))
        {
            return true;
        }

        if (TryParkAll())
        {
            return Sleep(since);
        }

        // A source that cannot be parked keeps the thread awake. The clock stands still without work, so ask here.
        _ = Poll(0);
        return true;
    }
}
