using RpcOverShm.Systems;

namespace RpcOverShm.Scheduling;

/// <summary>
/// The state of a thread of an event loop. Only that thread writes it, except for the fields by which the loop is taken
/// over from it.
/// </summary>
internal sealed class LoopThread(EventLoop loop)
{
    [ThreadStatic]
    private static LoopThread? s_current;

    private static int s_serial;

    // Grows by one at the beginning and at the end of each run of user code, so it is odd while one is in progress. No
    // two threads have the same number.
    private long _run = (long)Interlocked.Increment(ref s_serial) << 32;
    private long _wantedRun; // the run in which the loop is being taken over; set under the loop's lock

    /// <summary>The state of the calling thread; null if that is no thread of an event loop.</summary>
    public static LoopThread? Current
    {
        get => s_current;
        set => s_current = value;
    }

    /// <summary>The operating system's number of the thread that has created this object, its user.</summary>
    public int ThreadId { get; } = HostSystem.Current.CurrentThreadId;

    public EventLoop Loop => loop;

    /// <summary>The traits of the thread that has created this object, from before any user code ran there.</summary>
    public ThreadTraits Traits { get; } = ThreadTraits.OfThisThread();

    /// <summary>The number of the current run of user code; even if there is none.</summary>
    public long Run => Volatile.Read(ref _run);

    /// <summary>The reader role of the connection whose user code runs; the thread does not hold it.</summary>
    public ReaderRole? Role { get; set; }

    /// <summary>Whether user code is running. The thread may have lost the loop meanwhile.</summary>
    public bool IsInUserCode => IsUserCode(_run);

    /// <summary>
    /// Whether the running user code is of a quick kind, so the frames that it sends may be published a little later.
    /// </summary>
    public bool MayDefer { get; set; }

    /// <summary>Whether another thread runs the loop. Written under the loop's lock.</summary>
    public bool HasLostLoop { get; set; }

    public static bool IsUserCode(long run) => (run & 1) != 0;

    /// <summary>
    /// Returns whether the calling thread runs quick user code inline for this connection and still runs its loop. If
    /// so, the thread publishes afterwards what was deferred.
    /// </summary>
    public static bool MayDeferFor(ReaderRole role) =>
        s_current is { MayDefer: true } me
        && me.Role == role
        && me.IsInUserCode
        && Volatile.Read(ref me._wantedRun) != me._run;

    /// <summary>Begins a run of user code.</summary>
    public void BeginRun() => Volatile.Write(ref _run, _run + 1);

    /// <summary>
    /// Ends the run of user code. Returns false if the loop may have been taken over in it: its lock then tells.
    /// </summary>
    public bool EndRun()
    {
        // Asymmetric fence: this store precedes the load. The thread that takes the loop over stores the wanted run,
        // pays for a fence on every thread, and loads the run.
        long run = _run;
        Volatile.Write(ref _run, run + 1);
        return Volatile.Read(ref _wantedRun) != run;
    }

    /// <summary>
    /// Requests the loop in a run of user code. Returns whether that run is still in progress; if so, the thread finds
    /// out when it ends. The caller holds the loop's lock.
    /// </summary>
    public bool TryWant(long run)
    {
        Volatile.Write(ref _wantedRun, run);
        HostSystem.Current.FenceProcess();
        if (Run == run)
        {
            return true;
        }

        Volatile.Write(ref _wantedRun, 0);
        return false;
    }

    /// <summary>
    /// Lets the loop go on without this thread, if that is about to sleep inside of user code. Without this, the
    /// watchdog would find out a millisecond or two later.
    /// </summary>
    public static void LeaveLoopBeforeSleep()
    {
        if (s_current is { IsInUserCode: true, HasLostLoop: false } me)
        {
            me.Loop.TakeOver(me, me._run);
        }
    }
}
