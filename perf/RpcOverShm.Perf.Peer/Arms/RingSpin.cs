using System.Runtime.Intrinsics.X86;

namespace RpcOverShm.Perf.Peer.Arms;

/// <summary>
/// Checks for something without pause: bursts of about two microseconds with a yield between them. That costs nothing
/// in the fast case, and a spinning thread does not starve its peer when another program runs.
/// </summary>
internal struct RingSpin
{
    // A pause takes 40 to 140 cycles on current processors, so that a burst takes about 2 µs.
    private const int PausesPerBurst = 100;

    private long _startTick;
    private int _pauses;

    /// <summary>The time since the first burst ended.</summary>
    public readonly long ElapsedTicks => _startTick == 0 ? 0 : Stopwatch.GetTimestamp() - _startTick;

    /// <summary>
    /// Waits for a moment. Returns true after a burst: time to check whether waiting still makes sense.
    /// </summary>
    public bool Pause()
    {
        if (++_pauses < PausesPerBurst)
        {
            if (X86Base.IsSupported)
            {
                X86Base.Pause();
            }
            else
            {
                Thread.SpinWait(1);
            }

            return false;
        }

        _pauses = 0;
        Thread.Yield();
        _startTick = _startTick == 0 ? Stopwatch.GetTimestamp() : _startTick;
        return true;
    }
}
