using System.Runtime.InteropServices;
using RpcOverShm.Systems;

namespace RpcOverShm.Tests.Linux;

/// <summary>
/// A signal that sleeps by polling with growing pauses, and needs nothing of the operating system but shared memory. It
/// shows that the interface allows platforms without a doorbell across processes. It costs a check every few
/// milliseconds while asleep, and that much latency. Wakes reach the sleepers of this process at once; those of the
/// peer poll.
/// </summary>
internal sealed class PollingSignal : Signal
{
    public override IReadOnlyList<SafeHandle> Offer => [];

    public override void Attach(SignalWords words, IReadOnlyList<SafeHandle> ofPeer)
    {
    }

    public override void Dispose()
    {
    }

    private static readonly TimeSpan s_shortestPause = TimeSpan.FromMilliseconds(1);
    private static readonly TimeSpan s_longestPause = TimeSpan.FromMilliseconds(8);

    private readonly object _gate = new();
    private uint _wakes; // of any word

    public override bool Wait(SharedWord word, uint expected, uint localEventsSeen, TimeSpan timeout)
    {
        long start = TimeProvider.System.GetTimestamp();
        TimeSpan pause = s_shortestPause;
        lock (_gate)
        {
            uint wakes = _wakes;
            while (word.Read() == expected && LocalEventsWord.Value == localEventsSeen && _wakes == wakes)
            {
                TimeSpan left = timeout - TimeProvider.System.GetElapsedTime(start);
                if (left <= TimeSpan.Zero)
                {
                    return false;
                }

                Monitor.Wait(_gate, left < pause ? left : pause);
                pause = pause < s_longestPause ? pause * 2 : s_longestPause;
            }
        }

        return true;
    }

    public override void Wake(SharedWord word)
    {
        lock (_gate)
        {
            _wakes++;
            Monitor.PulseAll(_gate);
        }
    }

    public override void RaiseLocalEvent()
    {
        lock (_gate)
        {
            LocalEventsWord.Value++;
            Monitor.PulseAll(_gate);
        }
    }
}
