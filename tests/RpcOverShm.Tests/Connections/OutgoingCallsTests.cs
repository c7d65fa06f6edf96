using RpcOverShm.Connections;
using RpcOverShm.Protocol;

namespace RpcOverShm.Tests.Connections;

public class OutgoingCallsTests
{
    private readonly OutgoingCalls _calls = new(maxCalls: 200, isFromAcceptor: false);

    [Test]
    public void TryAdd_OfCalls_GivesEachAnIdOfItsOwn()
    {
        RecordingCall[] calls = [.. Enumerable.Range(0, 200).Select(_ => Add())];

        Assert.That(calls.Select(call => call.Id), Is.Unique);
        Assert.That(calls.Select(call => call.Id.Slot), Is.EqualTo(Enumerable.Range(0, 200)));
        Assert.That(calls.Select(call => call.Id.Generation), Is.All.EqualTo(1));
        Assert.That(calls.Select(call => call.Id.IsFromAcceptor), Is.All.False);
        Assert.That(_calls.TwoWayCounter.Count, Is.EqualTo(200));
        Assert.That(_calls.Snapshot(), Is.EqualTo(calls));
        Assert.That(calls.Select(call => _calls.Find(call.Id)), Is.EqualTo(calls));
    }

    [TestCase(0)]
    [TestCase(1)]
    public void TryAdd_BeyondTheLimit_IsFalse(int limit)
    {
        var calls = new OutgoingCalls((uint)limit, isFromAcceptor: true);
        Assert.That(Enumerable.Range(0, limit).Select(_ => calls.TryAdd(new RecordingCall())), Is.All.True);

        Assert.That(calls.TryAdd(new RecordingCall()), Is.False);
        Assert.That(calls.TwoWayCounter.Count, Is.EqualTo(limit));
    }

    [Test]
    public void TryAdd_AfterARemoval_TakesTheNextGenerationOfTheSlot()
    {
        RecordingCall first = Add();
        _calls.Remove(first);

        RecordingCall second = Add();

        Assert.That(second.Id, Is.EqualTo(new CallId(first.Id.Slot, 2, false)));
    }

    [Test]
    public void TryAdd_AfterTheLastGeneration_BeginsAnewAtOne()
    {
        uint last = 0;
        for (int i = 0; i < 32767; i++)
        {
            RecordingCall call = Add();
            last = call.Id.Generation;
            _calls.Remove(call);
        }

        Assert.That(last, Is.EqualTo(32767));
        Assert.That(Add().Id.Generation, Is.EqualTo(1));
    }

    [Test]
    public void Withdraw_InAnyGeneration_GivesItsIdToTheNext()
    {
        for (int i = 0; i < 3; i++)
        {
            RecordingCall withdrawn = Add();
            _calls.Withdraw(withdrawn);

            RecordingCall next = Add();
            Assert.That(next.Id, Is.EqualTo(withdrawn.Id));
            _calls.Remove(next);
        }
    }

    [Test]
    public void Find_OfAnythingElse_IsTheProtocolsFault()
    {
        RecordingCall ended = Add();
        _calls.Remove(ended);
        RecordingCall living = Add();
        CallId[] wrong =
        [
            ended.Id,
            new(living.Id.Slot, living.Id.Generation + 1, false),
            new(living.Id.Slot, living.Id.Generation, true),
            new(living.Id.Slot + 1, 1, false),
            new(65535, 1, false),
            new(uint.MaxValue),
            CallId.None,
        ];

        foreach (CallId id in wrong)
        {
            Assert.That(() => _calls.Find(id), Throws.TypeOf<ProtocolException>(), id.ToString());
        }
    }

    [Test]
    public void WhenEmptyAsync_WithNoCall_IsCompleted() =>
        Assert.That(_calls.TwoWayCounter.WhenEmptyAsync().IsCompletedSuccessfully);

    [Test]
    public async Task WhenEmptyAsync_WithCalls_CompletesWithTheLast()
    {
        RecordingCall one = Add();
        RecordingCall other = Add();
        Task empty = _calls.TwoWayCounter.WhenEmptyAsync();
        _calls.Remove(one);
        Assert.That(empty.IsCompleted, Is.False);

        _calls.Remove(other);

        await empty.Bounded();
    }

    [Test]
    public void WhenEmptyAsync_AskedAgainWithNewCalls_WaitsForThem()
    {
        RecordingCall first = Add();
        Task empty = _calls.TwoWayCounter.WhenEmptyAsync();
        _calls.Remove(first);
        Assert.That(empty.IsCompletedSuccessfully);
        Add();

        Assert.That(_calls.TwoWayCounter.WhenEmptyAsync().IsCompleted, Is.False);
    }

    [Test]
    public void AddFindRemove_ByManyThreads_KeepsEveryCallApart()
    {
        var gate = new Lock();
        var role = new Lock();
        TestThread.RunAll("adder", 4, _ =>
        {
            for (int i = 0; i < 20_000; i++)
            {
                RecordingCall call;
                lock (gate)
                {
                    call = Add();
                }

                lock (role)
                {
                    Assert.That(_calls.Find(call.Id), Is.SameAs(call));
                    _calls.Remove(call);
                }
            }
        });

        Assert.That(_calls.TwoWayCounter.Count, Is.Zero);
        Assert.That(_calls.Snapshot(), Is.Empty);
    }

    [Test]
    public async Task WhenEmptyAsync_WhileTheLastCallsGoEitherWay_CompletesEachTime()
    {
        const int Rounds = 20_000;
        RecordingCall[] removed = new RecordingCall[Rounds];
        RecordingCall[] withdrawn = new RecordingCall[Rounds];
        using var begin = new Barrier(3);
        using var end = new Barrier(3);
        TestThread[] threads =
        [
            TestThread.Start("reader", () => EachRound(round => _calls.Remove(removed[round]))),
            TestThread.Start("sender", () => EachRound(round => _calls.Withdraw(withdrawn[round]))),
        ];
        for (int round = 0; round < Rounds; round++)
        {
            removed[round] = Add();
            withdrawn[round] = Add();
            begin.SignalAndWait();
            Task empty = _calls.TwoWayCounter.WhenEmptyAsync();
            end.SignalAndWait();
            await empty.Bounded();
        }

        Array.ForEach(threads, thread => thread.Join());

        void EachRound(Action<int> act)
        {
            for (int round = 0; round < Rounds; round++)
            {
                begin.SignalAndWait();
                act(round);
                end.SignalAndWait();
            }
        }
    }

    private RecordingCall Add()
    {
        var call = new RecordingCall();
        Assert.That(_calls.TryAdd(call));
        return call;
    }
}
