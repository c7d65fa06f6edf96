using RpcOverShm.Diagnostics;

namespace RpcOverShm.Tests.Diagnostics;

public class UninterruptibleLockTests
{
    private readonly UninterruptibleLock _lock = new();

    [Test]
    public void Enter_OfAThreadThatIsInterrupted_HasTheLock_AndTheInterruptComesAtTheNextSleep()
    {
        bool hadLock = false;
        bool isInterrupted = false;
        TestThread waiting;
        using (_lock.Enter())
        {
            waiting = TestThread.Start("waiting", () =>
            {
                using (_lock.Enter())
                {
                    hadLock = true;
                }

                isInterrupted = IsInterrupted();
            });
            Interrupt(waiting);
            Assert.That(hadLock, Is.False);
        }

        waiting.Join();
        Assert.That((hadLock, isInterrupted), Is.EqualTo((true, true)));
    }

    [TestCase(true)]
    [TestCase(false)]
    public void Wait_OfAThreadThatIsInterrupted_EndsWithTheLock(bool isOwnThread)
    {
        bool isThrown = false;
        TestThread waiting = TestThread.Start("waiting", () =>
        {
            using (_lock.Enter())
            {
                try
                {
                    _ = isOwnThread ? _lock.WaitOnOwnThread(Timeouts.Wait) : _lock.Wait(Timeouts.Wait);
                }
                catch (ThreadInterruptedException)
                {
                    isThrown = true;
                }

                _lock.Pulse(); // Throws without the lock.
            }
        });

        Interrupt(waiting);

        waiting.Join();
        Assert.That(isThrown, Is.EqualTo(!isOwnThread));
    }

    [Test]
    public void Lock_ThatIsTaken_IsNotFreeForOthers_AndIsAfterwards()
    {
        using (_lock.Enter())
        {
            Assert.That(TryTakeElsewhere(), Is.False);
            Assert.That(_lock.TryTake(), "The same thread may enter again.");
            _lock.Exit();
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
            int result = UninterruptibleLock.Run(
                5, state => ++runs < 3 ? throw new ThreadInterruptedException() : state);
            Assert.That((result, runs), Is.EqualTo((5, 3)));
            isInterrupted = IsInterrupted();
        });

        Assert.That(isInterrupted);
        Assert.That(
            () => UninterruptibleLock.Run<int, int>(0, _ => throw new InvalidOperationException("mine")),
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
            isTaken = _lock.TryTake();
            if (isTaken)
            {
                _lock.Exit();
            }
        });
        return isTaken;
    }
}
