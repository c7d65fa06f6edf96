using RpcOverShm.Scheduling;

namespace RpcOverShm.FunctionalTests;

/// <summary>Lets the event loops of tests end soon, because some tests wait for that.</summary>
[SetUpFixture]
public class ShortLinger
{
    [OneTimeSetUp]
    public void Shorten() => EventLoop.Linger = TimeSpan.FromSeconds(0.3);
}
