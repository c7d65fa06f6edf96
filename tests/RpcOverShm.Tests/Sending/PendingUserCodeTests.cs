using RpcOverShm.Sending;

namespace RpcOverShm.Tests.Sending;

/// <summary>What is due to a call: it runs, whoever comes for it, and goes to the thread pool once.</summary>
public class PendingUserCodeTests
{
    private const int Rounds = 100_000;

    private readonly RecordingCall _call = new();

    // As the records of a stream do it, which come faster than a thread of the pool.
    [Test]
    public async Task QueueWork_AgainAndAgain_IsOneHopUntilItRuns()
    {
        var hasRun = new TaskCompletionSource(TaskCreationOptions.RunContinuationsAsynchronously);
        _call.OnWork = work => hasRun.TrySetResult();
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

    // By the reading thread, which queues it or runs it inline, and by the pool's threads, which take what they find.
    [Test]
    public void Work_ThatIsAddedWhileOtherRuns_RunsAfterwards()
    {
        int added = 0;
        int seen = 0;
        _call.OnWork = work => Raise(ref seen, Volatile.Read(ref added));
        for (int round = 1; round <= Rounds; round++)
        {
            Volatile.Write(ref added, round);
            _call.AddUserCode(PendingUserCode.WakeReader);
            if (_call.HasUserCode && round % 3 == 0)
            {
                _call.RunUserCode();
            }
            else if (_call.HasUserCode)
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

    // Two runs may overlap: the later one may be the first to say what it has seen.
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
