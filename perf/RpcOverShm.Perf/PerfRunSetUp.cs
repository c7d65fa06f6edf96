namespace RpcOverShm.Perf;

/// <summary>Ends what the run has started, after the last test.</summary>
[SetUpFixture]
public sealed class PerfRunSetUp
{
    [OneTimeTearDown]
    public Task EndRunAsync() => PerfRun.Current.DisposeAsync().AsTask();
}
