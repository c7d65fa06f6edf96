using RpcOverShm.Systems;

namespace RpcOverShm.Scheduling;

/// <summary>
/// Tells the watchdog whether user code itself keeps a thread: it is blocked at two checks in a row, or it uses much
/// processor time. A garbage collection and the loss of the processor also take wall-clock time, but are not the user
/// code's fault. Used by the watchdog's thread only.
/// </summary>
internal struct UserCodeCheck
{
    // Above the limit at which the inline budget calls user code very slow, so that it votes first. Below the time
    // between two checks, so that the second one finds code that uses the processor all the time, or nearly. On a
    // virtual machine the time in which the host takes the processor away counts too.
    public const long MostNanoseconds = 750_000;

    // A thread that waits for a processor for so many checks, about a second, loses the loop in any case. On a starved
    // machine a spare would wait for a processor just as long.
    public const int MostWaits = 1000;

    private long _word;
    private long _begun;    // processor time of the thread at the first check of this run
    private TimeSpan _pause; // of all garbage collections until then
    private int _waits;
    private long _last;      // processor time of the thread at the last check
    private bool _wasBlocked; // at the last check, if that was not the first of the run

    /// <summary>
    /// Returns whether a run of user code keeps its thread. False at the first
    /// check of a run, which begins the measurement.
    /// </summary>
    public bool IsKept(long word, LoopThread runner)
    {
        long used = HostSystem.Current.TimeOfThread(runner.ThreadId);

        // The state is not read at the first check: most runs end before the second, and reading costs three system
        // calls. A thread needs the processor to become blocked. So one that is blocked, and has not run since the last
        // check, was blocked then too.
        bool isBlocked = word == _word && HostSystem.Current.IsThreadBlocked(runner.ThreadId);
        bool isKept = used - _begun >= MostNanoseconds
            || ++_waits > MostWaits
            || (isBlocked && (_wasBlocked || used == _last));
        (_last, _wasBlocked) = (used, isBlocked);

        // Read last: a collection that began before has made the thread look blocked, and has ended since.
        TimeSpan pause = GC.GetTotalPauseDuration();
        if (word == _word && pause == _pause)
        {
            return isKept;
        }

        (_word, _begun, _pause, _waits) = (word, used, pause, 0);
        return false;
    }
}
