using System.Runtime.Intrinsics.X86;

namespace RpcOverShm.Perf.Peer.Arms;

/// <summary>
/// How a thread looks for something without pause: bursts of about two microseconds with a yield between them, which
/// costs the fast case nothing and keeps a spinner from starving its peer when something else runs.
/// </summary>
internal struct RingSpin
{
    // A pause takes 40 to 140 cycles on current processors: some 2 µs.
    private const int PausesPerBurst = 100;

    private long _startTick;
    private int _pauses;

    /// <summary>The time since the first burst ended.</summary>
    public readonly long ElapsedTicks => _startTick == 0 ? 0 : Stopwatch.GetTimestamp() - _startTick;

    /// <summary>Waits for a moment. True after a burst: time to look whether waiting still makes sense.</summary>
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
