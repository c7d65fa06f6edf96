using System.Diagnostics;
using RpcOverShm.Diagnostics;

namespace RpcOverShm.Clients;

/// <summary>
/// Counts the blocking callers of a channel that found no free reader role, and says when one more connection is worth
/// its memory and threads: when many of them came within a short time. Opens nothing itself. Thread-safe.
/// </summary>
internal sealed class ConnectionDemand
{
    /// <summary>The waits after which a connection is opened, if they came within <see cref="Window"/>.</summary>
    /// <remarks>
    /// A wait costs some microseconds and a handshake about a millisecond, so fewer of them would not pay it back.
    /// </remarks>
    public const int WaitsToGrow = 1000;

    /// <summary>The time for these waits.</summary>
    public static readonly TimeSpan Window = TimeSpan.FromSeconds(1);

    /// <summary>The pause after an attempt that failed: the server may be full for long.</summary>
    public static readonly TimeSpan PauseAfterFailure = TimeSpan.FromMinutes(1);

    private readonly Gate _gate = new();
    private int _waits;
    private long _countedSince;
    private long _pausedUntil;
    private bool _isOpening;

    /// <summary>
    /// Counts one wait at this time stamp. If the result is true, the caller opens a connection and reports the result.
    /// </summary>
    public bool OnWait(long now)
    {
        if (Interlocked.Increment(ref _waits) < WaitsToGrow)
        {
            return false;
        }

        using (_gate.Enter())
        {
            if (Volatile.Read(ref _waits) < WaitsToGrow)
            {
                return false;
            }

            bool isOften = now - _countedSince <= Ticks(Window);
            Restart(now);
            if (!isOften || _isOpening || now < _pausedUntil)
            {
                return false;
            }

            _isOpening = true;
            return true;
        }
    }

    /// <summary>Notes at this time stamp that the connection is open: the next one needs new waits.</summary>
    public void OnOpened(long now)
    {
        using (_gate.Enter())
        {
            _isOpening = false;
            Restart(now);
        }
    }

    /// <summary>Notes at this time stamp that the connection could not be opened.</summary>
    public void OnFailed(long now)
    {
        using (_gate.Enter())
        {
            _isOpening = false;
            _pausedUntil = now + Ticks(PauseAfterFailure);
        }
    }

    private void Restart(long now)
    {
        _countedSince = now;
        Volatile.Write(ref _waits, 0);
    }

    private static long Ticks(TimeSpan time) => (long)(time.TotalSeconds * Stopwatch.Frequency);
}
