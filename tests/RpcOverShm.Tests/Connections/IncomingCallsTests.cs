using RpcOverShm.Connections;
using RpcOverShm.Protocol;

namespace RpcOverShm.Tests.Connections;

public class IncomingCallsTests
{
    private const int MaxCalls = 300;

    private const int Window = 64 << 10;

    private readonly IncomingCalls _calls = new(MaxCalls, isFromAcceptor: false, Window);

    [Test]
    public void Add_OfTheFirstCallOfASlot_FindsItByItsId()
    {
        RecordingCall[] calls = [.. ((int[])[0, 1, 255, 256, 299]).Select(slot => Add(new CallId(slot, 1, false)))];

        Assert.That(calls.Select(call => _calls.Find(call.Id)), Is.EqualTo(calls));
        Assert.That(_calls.ActiveCounter.Count, Is.EqualTo(5));
        Assert.That(_calls.Snapshot(), Is.EqualTo(calls));
    }

    [TestCase(MaxCalls, 1u, false)]
    [TestCase(65535, 1u, false)]
    [TestCase(0, 1u, true)]
    public void Add_OfAnIdOutOfRange_IsTheProtocolsFault(int slot, uint generation, bool isFromAcceptor)
    {
        AssertWrong(new CallId(slot, generation, isFromAcceptor), "out of range");
    }

    [TestCase(0u)]
    [TestCase(2u)]
    [TestCase(32767u)]
    public void Add_OfAnotherGenerationThanTheFirst_IsTheProtocolsFault(uint generation)
    {
        AssertWrong(new CallId(3, generation, false), "out of turn");
    }

    [Test]
    public void Add_OfACallThatLives_IsTheProtocolsFault()
    {
        Add(new CallId(3, 1, false));

        AssertWrong(new CallId(3, 1, false), "twice");
        AssertWrong(new CallId(3, 2, false), "twice");
    }

    [TestCase(1u)]
    [TestCase(3u)]
    public void Add_AfterARemoval_TakesTheNextGenerationOnly(uint wrongGeneration)
    {
        _calls.Remove(Add(new CallId(3, 1, false)));

        AssertWrong(new CallId(3, wrongGeneration, false), "out of turn");
        Add(new CallId(3, 2, false));
    }

    [Test]
    public void Add_AfterTheLastGeneration_BeginsAnewAtOne()
    {
        for (uint generation = 1; generation <= 32767; generation++)
        {
            _calls.Remove(Add(new CallId(3, generation, false)));
        }

        Add(new CallId(3, 1, false));
    }

    [Test]
    public void Add_WhereNoneAreTaken_IsTheProtocolsFault()
    {
        var none = new IncomingCalls(0, isFromAcceptor: true, Window);

        Assert.That(() => none.Add(new CallId(0, 1, true), new RecordingCall()), Throws.TypeOf<ProtocolException>());
        Assert.That(() => none.Find(new CallId(0, 1, true)), Throws.TypeOf<ProtocolException>());
    }

    [Test]
    public void Find_OfACallThatWasEndedHere_IsNull()
    {
        RecordingCall call = Add(new CallId(3, 1, false));
        _calls.Remove(call);

        Assert.That(_calls.Find(call.Id), Is.Null);
    }

    [Test]
    public void Find_OfACallThatWasNeverStarted_IsTheProtocolsFault()
    {
        _calls.Remove(Add(new CallId(3, 1, false)));
        _calls.Remove(Add(new CallId(3, 2, false)));
        CallId[] wrong =
        [
            new(3, 1, false), new(3, 3, false), new(3, 2, true), new(4, 1, false), new(MaxCalls, 1, false),
            new(290, 1, false),
            new(uint.MaxValue), CallId.None,
        ];

        foreach (CallId id in wrong)
        {
            Assert.That(() => _calls.Find(id), Throws.TypeOf<ProtocolException>(), $"{id.Value:X}");
        }
    }

    [Test]
    public void Find_OfACallThatIsShut_IsTheProtocolsFault_AndTheNextOneIsTaken([Values] bool isOver)
    {
        var id = new CallId(3, 1, false);
        RecordingCall call = Add(id);
        if (isOver)
        {
            _calls.Remove(call);
        }

        _calls.RejectFurtherFrames(id);
        Assert.That(
            () => _calls.Find(id), Throws.TypeOf<ProtocolException>().With.Message.Contains("after its last one"));
        _calls.Remove(call);

        Assert.That(
            () => _calls.Find(id), Throws.TypeOf<ProtocolException>().With.Message.Contains("after its last one"));
        AssertWrong(id, "out of turn");
        AssertWrong(new CallId(3, 3, false), "out of turn");
        RecordingCall next = Add(new CallId(3, 2, false));
        Assert.That(_calls.Find(next.Id), Is.SameAs(next));
        Assert.That(() => _calls.Find(id), Throws.TypeOf<ProtocolException>().With.Message.Contains("never started"));
    }

    [Test]
    public void Add_AfterTheLastGenerationWasShut_BeginsAnewAtOne()
    {
        for (uint generation = 1; generation <= 32767; generation++)
        {
            RecordingCall call = Add(new CallId(3, generation, false));
            _calls.RejectFurtherFrames(call.Id);
            _calls.Remove(call);
        }

        Add(new CallId(3, 1, false));
    }

    [Test]
    public void AddOneWay_WhileTheWindowIsUsedUp_IsTheProtocolsFault_UntilACallIsRemoved()
    {
        RecordingCall large = AddOneWay(0, Window - OneWayCalls.BytesPerCall - 1);
        RecordingCall last = AddOneWay(1, 0);
        _calls.AddOneWayCost(last, 500);

        ProtocolException? refused = Assert.Throws<ProtocolException>(() => AddOneWay(2, 0));
        _calls.Remove(last);
        RecordingCall next = AddOneWay(1, 0, generation: 2);
        _calls.Remove(large);
        _calls.Remove(next);

        Assert.That(refused!.Message, Does.Contain($"cost {Window - 1 + OneWayCalls.BytesPerCall + 500} bytes"));
        Assert.That(last.Sending.OneWayCost, Is.EqualTo(OneWayCalls.BytesPerCall + 500));
        AddOneWay(2, 10 * Window);
        Assert.That(() => AddOneWay(3, 0), Throws.TypeOf<ProtocolException>());
    }

    [Test]
    public void Remove_Twice_CountsOnce()
    {
        RecordingCall call = Add(new CallId(3, 1, false));
        Add(new CallId(4, 1, false));

        Assert.That(_calls.Remove(call));
        Assert.That(_calls.Remove(call), Is.False);
        Assert.That(_calls.ActiveCounter.Count, Is.EqualTo(1));
    }

    [Test]
    public void Remove_OfACallWhoseSlotIsUsedAgain_LeavesTheNewOne()
    {
        RecordingCall first = Add(new CallId(3, 1, false));
        _calls.Remove(first);
        RecordingCall second = Add(new CallId(3, 2, false));

        Assert.That(_calls.Remove(first), Is.False);
        Assert.That(_calls.Find(second.Id), Is.SameAs(second));
    }

    [Test]
    public async Task WhenEmptyAsync_WithCalls_CompletesWithTheLast()
    {
        RecordingCall call = Add(new CallId(3, 1, false));
        Task empty = _calls.ActiveCounter.WhenEmptyAsync();
        Assert.That(empty.IsCompleted, Is.False);

        _calls.Remove(call);

        await empty.Bounded();
        await _calls.ActiveCounter.WhenEmptyAsync().Bounded();
    }

    [Test]
    public void Remove_ByOtherThreadsWhileTheReaderAdds_LosesNothing()
    {
        const int Rounds = 20_000;
        var gate = new Lock(); // Stands for the sender's gate, under which calls are removed.
        var added = new System.Collections.Concurrent.BlockingCollection<RecordingCall>();
        TestThread[] removers = [.. Enumerable.Range(0, 2).Select(_ => TestThread.Start("remover", () =>
        {
            foreach (RecordingCall call in added.GetConsumingEnumerable())
            {
                lock (gate)
                {
                    Assert.That(_calls.Remove(call));
                }
            }
        }))];

        uint[] generations = new uint[MaxCalls];
        for (int i = 0; i < Rounds; i++)
        {
            int slot = i % MaxCalls;
            while (generations[slot] > 0 && _calls.Find(new CallId(slot, generations[slot], false)) is not null)
            {
                Thread.Yield();
            }

            generations[slot]++;
            added.Add(Add(new CallId(slot, generations[slot], false)));
        }

        added.CompleteAdding();
        Array.ForEach(removers, remover => remover.Join());
        Assert.That(_calls.ActiveCounter.Count, Is.Zero);
    }

    private RecordingCall AddOneWay(int slot, int payloadBytes, uint generation = 1)
    {
        var call = new RecordingCall(isServed: true) { IsOneWay = true };
        _calls.AddOneWay(new CallId(slot, generation, false), call, payloadBytes);
        return call;
    }

    private RecordingCall Add(CallId id)
    {
        var call = new RecordingCall();
        _calls.Add(id, call);
        Assert.That(call.Id, Is.EqualTo(id));
        return call;
    }

    private void AssertWrong(CallId id, string why)
    {
        Assert.That(
            () => _calls.Add(id, new RecordingCall()), Throws.TypeOf<ProtocolException>().With.Message.Contains(why));
    }
}
