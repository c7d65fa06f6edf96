using RpcOverShm.Diagnostics;

namespace RpcOverShm.Tests.Diagnostics;

public class GateTests
{
    private readonly Gate _gate = new();

    [Test]
    public void Enter_OfAThreadThatIsInterrupted_HasTheGate_AndTheInterruptComesAtTheNextSleep()
    {
        bool hadGate = false;
        bool isInterrupted = false;
        TestThread waiting;
        using (_gate.Enter())
        {
            waiting = TestThread.Start("waiting", () =>
            {
                using (_gate.Enter())
                {
                    hadGate = true;
                }

                isInterrupted = IsInterrupted();
            });
            Interrupt(waiting);
            Assert.That(hadGate, Is.False);
        }

        waiting.Join();
        Assert.That((hadGate, isInterrupted), Is.EqualTo((true, true)));
    }

    [TestCase(true)]
    [TestCase(false)]
    public void Wait_OfAThreadThatIsInterrupted_EndsWithTheGate(bool isOwnThread)
    {
        bool isThrown = false;
        TestThread waiting = TestThread.Start("waiting", () =>
        {
            using (_gate.Enter())
            {
                try
                {
                    _ = isOwnThread ? _gate.WaitOnOwnThread(Timeouts.Wait) : _gate.Wait(Timeouts.Wait);
                }
                catch (ThreadInterruptedException)
                {
                    isThrown = true;
                }

                _gate.Pulse(); // Throws without the gate.
            }
        });

        Interrupt(waiting);

        waiting.Join();
        Assert.That(isThrown, Is.EqualTo(!isOwnThread));
    }

    [Test]
    public void Gate_ThatIsTaken_IsNotFreeForOthers_AndIsAfterwards()
    {
        using (_gate.Enter())
        {
            Assert.That(TryTakeElsewhere(), Is.False);
            Assert.That(_gate.TryTake(), "The same thread may enter again.");
            _gate.Exit();
        }

        Assert.That(TryTakeElsewhere(), Is.True);
    }

    [Test]
    public void Uninterrupted_RunsTheActionAgain_AndLeavesOtherExceptionsAlone()
    {
        int runs = 0;
        bool isInterrupted = false;
        TestThread.RunAll("interrupted", 1, _ =>
        {
            int result = Gate.Uninterrupted(5, state => ++runs < 3 ? throw new ThreadInterruptedException() : state);
            Assert.That((result, runs), Is.EqualTo((5, 3)));
            isInterrupted = IsInterrupted();
        });

        Assert.That(isInterrupted);
        Assert.That(
            () => Gate.Uninterrupted<int, int>(0, _ => throw new InvalidOperationException("mine")),
            Throws.InvalidOperationException.With.Message.EqualTo("mine"));
    }

    private static bool IsInterrupted()
    {
        try
        {
            Thread.Sleep(0);
            Thread.Sleep(1);
            return false;
        }
        catch (ThreadInterruptedException)
        {
            return true;
        }
    }

    private static void Interrupt(TestThread thread)
    {
        Assert.That(() => thread.IsWaiting, Is.True.After(20_000, 1));
        thread.Interrupt();
    }

    private bool TryTakeElsewhere()
    {
        bool isTaken = false;
        TestThread.RunAll("other", 1, _ =>
        {
            isTaken = _gate.TryTake();
            if (isTaken)
            {
                _gate.Exit();
            }
        });
        return isTaken;
    }
}
