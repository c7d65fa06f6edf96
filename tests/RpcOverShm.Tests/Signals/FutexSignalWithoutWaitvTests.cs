using RpcOverShm.Signals;

namespace RpcOverShm.Tests.Signals;

/// <summary>Where it cannot: a local event wakes again and again until each sleeper has noticed.</summary>
public class FutexSignalWithoutWaitvTests : SignalContract
{
    protected override object Create() => new FutexSignal(useWaitv: false);
}
