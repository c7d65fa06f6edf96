using System.Diagnostics;

namespace RpcOverShm.Scheduling;

/// <summary>
/// Tells when a yield would give the processor away for long. Beside a program that never sleeps, Linux lets that one
/// run for a whole slice of 2 to 4 ms after each yield (the more so since 6.18, where a yield gives up the rest of its
/// time), and a waiting thread yields for nearly every call. Two such losses in a row are taken as a sign of it; then
/// threads sleep instead of yielding for a while. Times are time stamps. Thread-safe.
/// </summary>
/// <param name="slow">How long a yield takes that gave the processor away for long; null for the default.</param>
internal sealed class SlowYields(TimeSpan? slow = null)
{
    // Longer than several other threads of calls need together: with 0.2 ms, eight blocking callers of a quiet machine
    // take half as long again.
    private static readonly TimeSpan s_slow = TimeSpan.FromMilliseconds(1);
    private static readonly long s_inARow = Stopwatch.Frequency / 200; // 5 ms

    // Measured beside one such program: 10 ms end all rounds of blocking calls with a median above 0.2 ms, 3 ms do not.
    private static readonly long s_pause = Stopwatch.Frequency / 100;

    private readonly long _slow = (long)((slow ?? s_slow).TotalSeconds * Stopwatch.Frequency);
    private long _lastSlow = long.MinValue / 2;
    private long _until;

    /// <summary>Whether a thread should sleep at this time instead of yielding.</summary>
    public bool AreExpected(long now) => now < Volatile.Read(ref _until);

    /// <summary>Notes how long a yield took.</summary>
    public void Note(long before, long after)
    {
        if (after - before <= _slow)
        {
            return;
        }

        // The race is benign: one loss more or less decides nothing.
        if (before - Volatile.Read(ref _lastSlow) < s_inARow)
        {
            Volatile.Write(ref _until, after + s_pause);
        }

        Volatile.Write(ref _lastSlow, after);
    }
}
