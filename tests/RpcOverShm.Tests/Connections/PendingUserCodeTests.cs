using RpcOverShm.Connections;

namespace RpcOverShm.Tests.Connections;

/// <summary>
/// Pending user code of a call runs exactly once, on any thread, and is queued to the thread pool only once.
/// </summary>
public class PendingUserCodeTests
{
    private const int Rounds = 100_000;

    private readonly RecordingCall _call = new();

    // As the records of a stream do, which arrive faster than a pool thread starts.
    [Test]
    public async Task QueueUserCode_AgainAndAgain_IsOneWorkItemUntilItRuns()
    {
        var hasRun = new TaskCompletionSource(TaskCreationOptions.RunContinuationsAsynchronously);
        _call.OnWork = userCode => hasRun.TrySetResult();
        long before = ThreadPool.CompletedWorkItemCount;

        _call.AddUserCode(PendingUserCode.Start);
        for (int i = 0; i < Rounds; i++)
        {
            _call.QueueUserCode();
        }

        await hasRun.Task.Bounded();
        await Timeouts.Eventually(() => ThreadPool.PendingWorkItemCount == 0);
        Assert.That(ThreadPool.CompletedWorkItemCount - before, Is.LessThan(Rounds / 2));
    }

    // The reading thread queues the code or runs it inline; pool threads run all pending code that they find.
    [Test]
    public void UserCode_ThatIsAddedWhileOtherRuns_RunsAfterwards()
    {
        int added = 0;
        int seen = 0;
        _call.OnWork = userCode => Raise(ref seen, Volatile.Read(ref added));
        for (int round = 1; round <= Rounds; round++)
        {
            Volatile.Write(ref added, round);
            _call.AddUserCode(PendingUserCode.WakeReader);
            if (_call.HasUnqueuedUserCode && round % 3 == 0)
            {
                _call.RunUserCode();
            }
            else if (_call.HasUnqueuedUserCode)
            {
                _call.QueueUserCode();
            }

            if (round % 16 == 0)
            {
                bool isSeen = SpinWait.SpinUntil(() => Volatile.Read(ref seen) == added, Timeouts.Wait);
                Assert.That(isSeen, $"Round {round}.");
            }
        }
    }

    // Two runs may overlap, and the later one may report first.
    private static void Raise(ref int to, int value)
    {
        int known;
        do
        {
            known = Volatile.Read(ref to);
        }
        while (known < value && Interlocked.CompareExchange(ref to, value, known) != known);
    }
}
