namespace RpcOverShm.Perf.Peer.Loads;

/// <summary>
/// The start of each call for a caller that is not a closed loop: after a silence, or on a schedule that is fixed
/// beforehand and never moved when a call was late. One thread at a time.
/// </summary>
internal sealed class EchoPace
{
    // A sleeping thread wakes too late, by the kernel's slack and the wake-up: it spins for the rest.
    private static readonly long s_sleepFromTicks = Stopwatch.Frequency * 2 / 1000;

    private readonly TimeSpan _gap;
    private readonly double _intervalTicks;
    private readonly double _originTick;
    private long _calls;

    private EchoPace(LoadOrder order, int caller)
    {
        _gap = order.Gap;
        if (order.OfferedPerSecond > 0)
        {
            // The callers take turns.
            _intervalTicks = Stopwatch.Frequency * (double)order.Callers / order.OfferedPerSecond;
            _originTick = Stopwatch.GetTimestamp() + (_intervalTicks * caller / order.Callers);
        }
    }

    /// <summary>Whether calls have an intended start.</summary>
    public bool IsSchedule => _intervalTicks > 0;

    /// <summary>The intended start of the call that was waited for.</summary>
    public long IntendedTick { get; private set; }

    /// <summary>Returns null for a closed loop.</summary>
    public static EchoPace? Of(LoadOrder order, int caller) =>
        order.Gap > TimeSpan.Zero || order.OfferedPerSecond > 0 ? new EchoPace(order, caller) : null;

    public void Wait()
    {
        if (!IsSchedule)
        {
            Thread.Sleep(_gap);
            return;
        }

        IntendedTick = (long)(_originTick + (_calls++ * _intervalTicks));
        var spin = new RingSpin();
        long left;
        while ((left = IntendedTick - Stopwatch.GetTimestamp()) > 0)
        {
            if (left > s_sleepFromTicks)
            {
                Thread.Sleep(TimeSpan.FromSeconds((left - (s_sleepFromTicks / 2)) / (double)Stopwatch.Frequency));
            }
            else
            {
                spin.Pause();
            }
        }
    }

    public Task WaitAsync() => IsSchedule
        ? throw new NotSupportedException("A schedule is kept by a thread.")
        : Task.Delay(_gap);
}
