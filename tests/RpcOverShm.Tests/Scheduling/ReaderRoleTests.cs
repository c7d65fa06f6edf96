using RpcOverShm.Scheduling;

namespace RpcOverShm.Tests.Scheduling;

public class ReaderRoleTests
{
    private readonly ReaderRole _role = new();

    [Test]
    public void TryTake_OfAFreeRole_TakesIt()
    {
        Assert.That(_role.IsFree);

        Assert.That(_role.TryTake(out _));
        Assert.That(_role.IsFree, Is.False);
    }

    [Test]
    public void TryTake_OfATakenRole_ChangesNothing()
    {
        _role.TryTake(out _);
        long word = _role.Word;

        Assert.That(_role.TryTake(out _), Is.False);
        Assert.That(_role.Word, Is.EqualTo(word));
    }

    [Test]
    public void Release_ByItsHolder_FreesTheRole()
    {
        _role.TryTake(out ReaderRole.Token token);

        _role.Release(token);

        Assert.That(_role.IsFree);
    }

    [Test]
    public void Word_AfterEachTaking_IsANewOne()
    {
        var words = new HashSet<long> { _role.Word };
        for (int i = 0; i < 5; i++)
        {
            _role.TryTake(out ReaderRole.Token token);
            Assert.That(words.Add(_role.Word));
            _role.Release(token);
            Assert.That(words.Add(_role.Word));
        }
    }

    [Test]
    public void UserCode_OfAHolder_KeepsTheRole()
    {
        _role.TryTake(out ReaderRole.Token token);

        _role.EnterUserCode(ref token);

        Assert.That(ReaderRole.IsInUserCode(_role.Word));
        Assert.That(_role.IsFree, Is.False);
        Assert.That(_role.TryTake(out _), Is.False);
        Assert.That(_role.TryReturn(ref token));
        Assert.That(ReaderRole.IsInUserCode(_role.Word), Is.False);
        _role.Release(token);
        Assert.That(_role.IsFree);
    }

    [Test]
    public void TryTakeOver_OfUserCode_FreesTheRoleAndTakesItsTokenAway()
    {
        _role.TryTake(out ReaderRole.Token token);
        _role.EnterUserCode(ref token);

        Assert.That(_role.TryTakeOver(_role.Word));

        Assert.That(_role.IsFree);
        Assert.That(_role.TryTake(out ReaderRole.Token other));
        Assert.That(_role.TryReturn(ref token), Is.False);
        Assert.That(_role.IsFree, Is.False, "The role is the other's.");
        _role.Release(other);
    }

    [Test]
    public void TryTakeOver_OfUserCodeThatHasReturned_TakesNothing()
    {
        _role.TryTake(out ReaderRole.Token token);
        _role.EnterUserCode(ref token);
        long seen = _role.Word;
        Assert.That(_role.TryReturn(ref token));
        Assert.That(_role.TryTakeOver(seen), Is.False);

        // Nor if the same thread is in other user code by then.
        _role.EnterUserCode(ref token);

        Assert.That(_role.TryTakeOver(seen), Is.False);
        Assert.That(_role.TryReturn(ref token));
    }

    [Test]
    public void Token_OfEachTaking_IsAnother()
    {
        _role.TryTake(out ReaderRole.Token first);
        _role.Release(first);
        _role.TryTake(out ReaderRole.Token second);

        Assert.That(second, Is.Not.EqualTo(first));
    }

    [Test]
    public void Retire_Afterwards_NobodyTakesTheRole()
    {
        _role.TryTake(out ReaderRole.Token token);

        _role.Retire(token);

        Assert.That(_role.IsFree, Is.False);
        Assert.That(_role.TryTake(out _), Is.False);
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
                if (!_role.TryTake(out ReaderRole.Token token))
                {
                    Thread.Yield();
                    continue;
                }

                overlaps += Interlocked.Increment(ref holders) == 1 ? 0 : 1;
                unguarded++; // Not atomic: two holders at a time would lose some.
                taken++;
                Interlocked.Decrement(ref holders);
                _role.Release(token);
            }
        });

        Assert.That(overlaps, Is.Zero);
        Assert.That(unguarded, Is.EqualTo(Threads * TakesEach));
    }

    [Test]
    public void Retire_AmongManyTakers_IsTheLastTaking()
    {
        int takenAfter = 0;
        bool isRetired = false;
        using var start = new Barrier(3);
        TestThread.RunAll("taker", 3, i =>
        {
            start.SignalAndWait(Timeouts.Wait);
            for (int n = 0; n < 50_000; n++)
            {
                if (_role.TryTake(out ReaderRole.Token token))
                {
                    takenAfter += Volatile.Read(ref isRetired) ? 1 : 0;
                    if (i == 0 && n > 25_000)
                    {
                        Volatile.Write(ref isRetired, true);
                        _role.Retire(token);
                        return;
                    }

                    _role.Release(token);
                }
            }
        });

        Assert.That(takenAfter, Is.Zero);
    }
}
