using System.Diagnostics;
using RpcOverShm.Scheduling;

namespace RpcOverShm.Connections;

/// <summary>
/// The state of a blocking caller from <see cref="ConnectionReader.EnterCaller"/> to
/// <see cref="ConnectionReader.LeaveCaller"/>: whether it holds the reader role, whether it counts as blocked, and how
/// long it has waited.
/// </summary>
internal struct CallerLease
{
    private long _waitsSince; // the time stamp of the first wait; 0 before that

    public bool HasRole;

    /// <summary>
    /// Whether the caller arms the ring when it leaves, because callers are rare: this one found the ring armed, 2 ms
    /// or more after a caller last found it so.
    /// </summary>
    public bool ArmsOnLeave;

    public bool IsCounted;

    /// <summary>
    /// Whether the caller has waited for <see cref="WaitBounds.MaxFastWait"/>, so that the event loop must read instead
    /// of it.
    /// </summary>
    public bool IsReadingTimeOver { get; private set; }

    /// <summary>Returns how much longer the caller may read or spin. The first call starts the time.</summary>
    public TimeSpan GetReadingTimeLeft()
    {
        if (_waitsSince == 0)
        {
            _waitsSince = Stopwatch.GetTimestamp();
        }

        TimeSpan left = WaitBounds.MaxFastWait - Stopwatch.GetElapsedTime(_waitsSince);
        IsReadingTimeOver = left <= TimeSpan.Zero;
        return IsReadingTimeOver ? TimeSpan.Zero : left;
    }
}
