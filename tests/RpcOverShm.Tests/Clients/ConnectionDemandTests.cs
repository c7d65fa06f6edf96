using System.Diagnostics;
using RpcOverShm.Clients;

namespace RpcOverShm.Tests.Clients;

/// <summary>The waits after which a channel opens one more connection.</summary>
[FixtureLifeCycle(LifeCycle.InstancePerTestCase)]
public class ConnectionDemandTests
{
    private static readonly long s_window = Ticks(ConnectionDemand.Window);
    private static readonly long s_pause = Ticks(ConnectionDemand.PauseAfterFailure);

    private readonly ConnectionDemand _demand = new();
    private long _now = Ticks(TimeSpan.FromHours(1));

    [Test]
    public void ManyWaits_WithinTheWindow_AreADemandOnce()
    {
        Assert.That(CountDemands(ConnectionDemand.WaitsToGrow, over: 0), Is.Zero, "They may have come in an hour.");

        Assert.That(CountDemands(ConnectionDemand.WaitsToGrow - 1, over: s_window / 2), Is.Zero);
        Assert.That(_demand.OnWait(_now));
        Assert.That(CountDemands(10 * ConnectionDemand.WaitsToGrow, over: s_window), Is.Zero, "One is being opened.");
    }

    [Test]
    public void ManyWaits_OverALongerTime_AreNone() =>
        Assert.That(CountDemands(10 * ConnectionDemand.WaitsToGrow, over: 10 * (s_window + s_window / 8)), Is.Zero);

    [Test]
    public void Waits_BeforeTheConnectionIsOpen_DoNotCountForTheNext()
    {
        CountDemands(2 * ConnectionDemand.WaitsToGrow, over: s_window / 2);
        CountDemands(ConnectionDemand.WaitsToGrow - 1, over: 0);
        _demand.OnOpened(_now);

        Assert.That(CountDemands(ConnectionDemand.WaitsToGrow - 1, over: s_window / 2), Is.Zero);
        Assert.That(_demand.OnWait(_now));
    }

    [Test]
    public void Waits_AfterAFailure_AreNoDemandForAWhile()
    {
        CountDemands(2 * ConnectionDemand.WaitsToGrow, over: s_window / 2);
        _demand.OnFailed(_now);
        long until = _now + s_pause;

        int duringPause = 0;
        while (_now < until - s_window)
        {
            duringPause += CountDemands(ConnectionDemand.WaitsToGrow, over: s_window / 2);
        }

        _now = until;
        Assert.That(duringPause, Is.Zero);
        Assert.That(CountDemands(2 * ConnectionDemand.WaitsToGrow, over: s_window / 2), Is.EqualTo(1));
    }

    [Test]
    public void Waits_OfManyThreads_AreOneDemand()
    {
        int demands = 0;

        TestThread.RunAll("waiting", 4, _ =>
        {
            for (int i = 0; i < 10 * ConnectionDemand.WaitsToGrow; i++)
            {
                if (_demand.OnWait(_now))
                {
                    Interlocked.Increment(ref demands);
                }
            }
        });

        Assert.That(demands, Is.EqualTo(1));
    }

    // Spreads the waits evenly over the time.
    private int CountDemands(int waits, long over)
    {
        int demands = 0;
        long begun = _now;
        for (int i = 1; i <= waits; i++)
        {
            _now = begun + (over * i / waits);
            demands += _demand.OnWait(_now) ? 1 : 0;
        }

        return demands;
    }

    private static long Ticks(TimeSpan time) => (long)(time.TotalSeconds * Stopwatch.Frequency);
}
