using RpcOverShm.Signals;

namespace RpcOverShm.Tests.Signals;

/// <summary>Where the kernel can wait for two words at once.</summary>
public class FutexSignalTests : SignalContract
{
    [OneTimeSetUp]
    public static void RequireWaitv() => Assume.That(FutexSignal.IsWaitvSupported, "The kernel has no futex_waitv.");

    protected override object Create() => new FutexSignal(useWaitv: true);
}
