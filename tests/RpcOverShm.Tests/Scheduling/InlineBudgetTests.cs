using RpcOverShm.Scheduling;

namespace RpcOverShm.Tests.Scheduling;

/// <summary>The decision whether a kind of user code runs inline, by the cost of its runs.</summary>
public class InlineBudgetTests
{
    private const int RunsUntilSlow = 4;
    private const int FirstPause = 64;

    private readonly InlineBudget _budget = new();

    [Test]
    public void ShouldRunInline_BeforeAnyRun_IsTrue() => Assert.That(_budget.ShouldRunInline());

    [TestCase(1, true)]
    [TestCase(RunsUntilSlow, false)]
    public void ShouldRunInline_AfterSlowRuns_DependsOnTheirNumber(int runs, bool isInline)
    {
        RunSlowly(runs, messages: 1);

        Assert.That(_budget.ShouldRunInline(), Is.EqualTo(isInline));
    }

    [Test]
    public void ShouldRunInline_AfterRunsThatWereSlowForManyMessages_IsTrue()
    {
        // A run that is slow for one message is not slow for ten: a reader woken once reads them all.
        RunSlowly(RunsUntilSlow * 4, messages: 10);

        Assert.That(_budget.ShouldRunInline());
    }

    [Test]
    public void ShouldRunInline_AfterSlowRunsWhichNobodyWaitedFor_IsTrue()
    {
        Run(RunsUntilSlow * 4, microseconds: 100, messages: 1, isAnyWaiting: false);

        Assert.That(_budget.ShouldRunInline());
    }

    [Test]
    public void ShouldRunInline_AfterVerySlowRuns_IsFalse()
    {
        Run(RunsUntilSlow, microseconds: 600, messages: 1, isAnyWaiting: false);

        Assert.That(_budget.ShouldRunInline(), Is.False);
    }

    [Test]
    public void ShouldRunInline_AfterTakeOvers_IsFalseForAWhile()
    {
        for (int i = 0; i < RunsUntilSlow; i++)
        {
            _budget.RecordTakeOver();
        }

        AssertPause(FirstPause);
    }

    [Test]
    public void ShouldRunInline_AfterATryThatWasSlowAgain_PausesForTwiceAsLong()
    {
        ShouldRunInline_AfterTakeOvers_IsFalseForAWhile();
        _budget.RecordTakeOver();

        AssertPause(FirstPause * 2);
    }

    private void AssertPause(int queued)
    {
        Assert.That(Enumerable.Range(0, queued).Select(_ => _budget.ShouldRunInline()), Is.All.False);
        Assert.That(_budget.ShouldRunInline());
    }

    private void RunSlowly(int runs, int messages) => Run(runs, microseconds: 100, messages, isAnyWaiting: true);

    // Measured with the clock of this thread's processor time, so that the load of the machine does not count.
    private void Run(int runs, int microseconds, int messages, bool isAnyWaiting)
    {
        for (int i = 0; i < runs; i++)
        {
            long begun = _budget.Begin(run: 0);
            long start = ThreadClock.Now;
            while (ThreadClock.Now - start < microseconds * ThreadClock.TicksPerMicrosecond)
            {
                // Uses processor time.
            }

            _budget.End(begun, messages, isAnyWaiting);
        }
    }
}
