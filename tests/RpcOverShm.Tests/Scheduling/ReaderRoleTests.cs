using RpcOverShm.Scheduling;

namespace RpcOverShm.Tests.Scheduling;

/// <summary>The one word of the reader role, by one thread and by many.</summary>
public class ReaderRoleTests
{
    private readonly ReaderRole _role = new();

    [Test]
    public void TryTake_OfAFreeRole_TakesIt()
    {
        Assert.That(_role.IsFree);

        Assert.That(_role.TryTake());
        Assert.That(_role.IsFree, Is.False);
    }

    [Test]
    public void TryTake_OfATakenRole_ChangesNothing()
    {
        _role.TryTake();
        long word = _role.Word;

        Assert.That(_role.TryTake(), Is.False);
        Assert.That(_role.Word, Is.EqualTo(word));
    }

    [Test]
    public void Release_ByItsHolder_FreesTheRole()
    {
        _role.TryTake();

        _role.Release();

        Assert.That(_role.IsFree);
        Assert.That(_role.HasEnded, Is.False);
    }

    [Test]
    public void Word_AfterEachTaking_IsANewOne()
    {
        var words = new HashSet<long> { _role.Word };
        for (int i = 0; i < 5; i++)
        {
            _role.TryTake();
            Assert.That(words.Add(_role.Word));
            _role.Release();
            Assert.That(words.Add(_role.Word));
        }
    }

    [Test]
    public void End_Afterwards_NobodyTakesTheRole()
    {
        _role.TryTake();

        _role.End();

        Assert.That(_role.HasEnded);
        Assert.That(_role.IsFree, Is.False);
        Assert.That(_role.TryTake(), Is.False);
    }

    [Test]
    public void TryTake_ByManyThreads_GivesItToOneAtATime()
    {
        const int Threads = 4;
        const int TakesEach = 200_000;
        long unguarded = 0;
        int holders = 0;
        int overlaps = 0;
        using var start = new Barrier(Threads);
        TestThread.RunAll("taker", Threads, _ =>
        {
            int taken = 0;
            start.SignalAndWait(Timeouts.Wait);
            while (taken < TakesEach)
            {
                if (!_role.TryTake())
                {
                    Thread.Yield();
                    continue;
                }

                overlaps += Interlocked.Increment(ref holders) == 1 ? 0 : 1;
                unguarded++; // Not atomic: two holders at a time would lose some.
                taken++;
                Interlocked.Decrement(ref holders);
                _role.Release();
            }
        });

        Assert.That(overlaps, Is.Zero);
        Assert.That(unguarded, Is.EqualTo(Threads * TakesEach));
    }

    [Test]
    public void End_AmongManyTakers_IsTheLastTaking()
    {
        int takenAfter = 0;
        bool hasEnded = false;
        using var start = new Barrier(3);
        TestThread.RunAll("taker", 3, i =>
        {
            start.SignalAndWait(Timeouts.Wait);
            for (int n = 0; n < 50_000; n++)
            {
                if (_role.TryTake())
                {
                    takenAfter += Volatile.Read(ref hasEnded) ? 1 : 0;
                    if (i == 0 && n > 25_000)
                    {
                        Volatile.Write(ref hasEnded, true);
                        _role.End();
                        return;
                    }

                    _role.Release();
                }
            }
        });

        Assert.That(takenAfter, Is.Zero);
    }
}
