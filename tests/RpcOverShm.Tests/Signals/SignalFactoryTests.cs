using RpcOverShm.Signals;

namespace RpcOverShm.Tests.Signals;

public class SignalFactoryTests
{
    [Test]
    public void Create_OnLinux_SleepsByFutex()
    {
        Assert.That(SignalFactory.Create(), Is.TypeOf<FutexSignal>());
    }

    [Test]
    public void Create_Twice_MakesOneForEachSide()
    {
        ISignal one = SignalFactory.Create();
        ISignal other = SignalFactory.Create();

        Assert.That(one, Is.Not.SameAs(other));
    }

    [Test]
    public void IsWaitvSupported_OnAKernelThatHasIt_IsTrue()
    {
        Assume.That(Environment.OSVersion.Version, Is.GreaterThanOrEqualTo(new Version(5, 16)));

        Assert.That(FutexSignal.IsWaitvSupported);
    }
}
