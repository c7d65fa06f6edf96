using RpcOverShm.Connections;
using RpcOverShm.Scheduling;

namespace RpcOverShm.Tests.Connections;

public class SleepingCallersTests
{
    private readonly SleepingCallers _sleepers = new();
    private readonly AutoResetLatch[] _latches = [new(), new(), new()];

    [SetUp]
    public void Sleep() => Array.ForEach(_latches, _sleepers.Add);

    [Test]
    public void SignalOne_OfSeveral_SignalsOne()
    {
        _sleepers.SignalOne();

        Assert.That(_latches.Count(latch => latch.IsSignalled), Is.EqualTo(1));
    }

    [Test]
    public void SignalOne_AfterTheSignalledHasLeft_SignalsAnother()
    {
        _sleepers.SignalOne();
        AutoResetLatch first = _latches.Single(latch => latch.IsSignalled);
        _sleepers.Remove(first);
        _sleepers.SignalOne();

        Assert.That(_latches.Count(latch => latch.IsSignalled), Is.EqualTo(2));
    }

    [Test]
    public void SignalOne_OfNone_DoesNothing()
    {
        Array.ForEach(_latches, _sleepers.Remove);
        _sleepers.SignalOne();

        Assert.That(_latches.Count(latch => latch.IsSignalled), Is.Zero);
    }

    [Test]
    public void SignalAll_OfSeveral_SignalsAll()
    {
        _sleepers.SignalAll();

        Assert.That(_latches.Count(latch => latch.IsSignalled), Is.EqualTo(_latches.Length));
    }
}
