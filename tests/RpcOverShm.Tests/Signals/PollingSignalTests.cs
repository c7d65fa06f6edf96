using RpcOverShm.Signals;

namespace RpcOverShm.Tests.Signals;

/// <summary>The portable form, which needs nothing of the system.</summary>
public class PollingSignalTests : SignalContract
{
    protected override object Create() => new PollingSignal();
}
