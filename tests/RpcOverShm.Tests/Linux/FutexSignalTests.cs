using RpcOverShm.Linux;
using RpcOverShm.Tests.Systems;

namespace RpcOverShm.Tests.Linux;

/// <summary>The futex signal on kernels that can wait for two words at once (futex_waitv).</summary>
public class FutexSignalTests : SignalContract
{
    [OneTimeSetUp]
    public static void RequireWaitv() => Assume.That(FutexSignal.IsWaitvSupported, "The kernel has no futex_waitv.");

    // A peer may let any number of its threads sleep on its mapping of a word.
    [Test]
    public void Wake_WithMoreSleepersThanASideMayHave_WakesOnlySoMany()
    {
        Sleeper[] sleepers = [.. NewSleepers(areAsleep: true), .. NewSleepers(areAsleep: true)];

        WakeByThePeer();

        Assert.That(() => Woken(), Is.Positive.After(20_000, 1));
        Assert.That(() => Woken(), Is.AtMost(FutexNative.MostSleepers).After(100));
        WakeAll();
        Assert.That(sleepers.Select(sleeper => sleeper.Join().WasWoken), Is.All.True);

        int Woken() => sleepers.Count(sleeper => !sleeper.IsAlive);
    }

    [Test]
    public void IsWaitvSupported_OnAKernelThatHasIt_IsTrue()
    {
        Assume.That(Environment.OSVersion.Version, Is.GreaterThanOrEqualTo(new Version(5, 16)));

        Assert.That(FutexSignal.IsWaitvSupported);
    }

    protected override object Create() => new FutexSignal(useWaitv: true);
}
