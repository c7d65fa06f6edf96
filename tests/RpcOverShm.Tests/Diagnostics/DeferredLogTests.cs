using RpcOverShm.Diagnostics;

namespace RpcOverShm.Tests.Diagnostics;

/// <summary>Log entries that a peer causes, with a slow logger.</summary>
public sealed class DeferredLogTests
{
    private const int EntriesDropped = 306;
    private const int Unimplemented = 304;

    [Test]
    public async Task Write_ToASlowLogger_KeepsALimitedNumber_AndSaysHowManyWereDropped()
    {
        var log = new LogGuard();

        // Not disposed: the writer may still be in it when the last entry has been seen.
        var release = new ManualResetEventSlim();
        log.OnEntry = _ => release.Wait(Timeouts.Hang);
        await Timeouts.Eventually(() => DeferredLog.IsEmpty, "the entries of earlier tests are written");

        for (int i = 0; i < DeferredLog.MaxPending + 3; i++)
        {
            DeferredLog.Write(log, to => ShmLog.MethodUnimplemented(to, "/a/b", "server", "shm://a", "no services"));
        }

        release.Set();
        Assert.That(
            (await log.WaitForAsync(EntriesDropped)).Message,
            Is.EqualTo("3 log entries were dropped: at most 256 may wait for the logger at a time."));
        await Timeouts.Eventually(() => log.Of(Unimplemented).Count == DeferredLog.MaxPending, "all others written");
        Assert.That(log.Of(EntriesDropped), Has.Count.EqualTo(1));
    }
}
