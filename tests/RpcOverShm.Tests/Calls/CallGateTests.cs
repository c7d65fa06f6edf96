using RpcOverShm.Calls;
using RpcOverShm.Protocol;
using RpcOverShm.Servers;
using RpcOverShm.Tests.Connections;
using RpcOverShm.Tests.Servers;

namespace RpcOverShm.Tests.Calls;

/// <summary>Calls enter a gate, wait at it in order, and borrow the place of another one.</summary>
[TestFixture]
public partial class CallGateTests
{
    private const int Rounds = 5000;

    private readonly object _lane = new();

    [Test]
    public void Enter_BeyondTheLimit_WaitsInOrder()
    {
        var gate = new CallGate(limit: 2, isOfInstance: true);
        Visitor[] calls = [.. Enumerable.Range(0, 5).Select(_ => new Visitor(gate, _lane))];
        GateResult[] entered = [.. calls.Select(call => call.Enter(maxWaiting: 2))];

        GateResult[] expected =
        [
            GateResult.Inside, GateResult.Inside, GateResult.Waiting, GateResult.Waiting, GateResult.Full,
        ];
        Assert.That(entered, Is.EqualTo(expected));
        calls[1].End();
        Assert.That((calls[2].IsInside, calls[3].IsInside), Is.EqualTo((true, false)));
        calls[0].End();
        Assert.That(calls[3].IsInside, Is.True);
        Assert.That((gate.Inside, gate.Waiting), Is.EqualTo((2, 0)));
    }

    [Test]
    public void Lanes_TakeTurns_AndACallThatEndsTakesNoTurn()
    {
        var gate = new CallGate(limit: 1, isOfInstance: true);
        object[] lanes = [new(), new()];
        Visitor first = Entered(gate);
        Visitor[] calls = [.. "aabab".Select(lane => new Visitor(gate, lanes[lane - 'a']))];
        Assert.That(calls.Select(call => call.Enter()), Is.All.EqualTo(GateResult.Waiting));
        calls[3].End();

        var order = new List<int>();
        for (Visitor last = first; order.Count < 4; last = calls[order[^1]])
        {
            last.End();
            order.Add(Array.FindIndex(calls, call => call.IsInside && !order.Contains(Array.IndexOf(calls, call))));
        }

        int[] expected = [0, 2, 1, 4];
        Assert.That(order, Is.EqualTo(expected));
    }

    [Test]
    public void WaitingCallsOfOneLane_LeaveRoomForThoseOfAnother()
    {
        var gate = new CallGate(limit: 1, isOfInstance: true);
        Entered(gate);
        Visitor[] calls = [.. "aaab".Select(lane => new Visitor(gate, lane == 'a' ? _lane : gate))];

        GateResult[] entered = [.. calls.Select(call => call.Enter(maxWaiting: 2))];

        Assert.That(entered, Is.EqualTo((GateResult[])
            [GateResult.Waiting, GateResult.Waiting, GateResult.Full, GateResult.Waiting]));
    }

    [Test]
    public void End_OfAWaitingCall_LeavesTheQueue()
    {
        var gate = new CallGate(limit: 1, isOfInstance: true);
        Visitor first = Entered(gate);
        var left = new Visitor(gate, _lane);
        left.Enter(maxWaiting: 1);
        left.End();
        Assert.That(gate.Waiting, Is.Zero);
        var next = new Visitor(gate, _lane);
        Assert.That(next.Enter(maxWaiting: 1), Is.EqualTo(GateResult.Waiting));

        first.End();

        Assert.That(next.IsInside, Is.True);
        next.End();
        Entered(gate);
    }

    // The middle of a chain ends before the call that borrowed its place.
    [Test]
    public void OneName_LetsNoMorePassThanTheDepth_WhateverEndsFirst([Values] bool isOfInstance)
    {
        var gate = new CallGate(limit: 1, isOfInstance);
        Visitor first = Entered(gate);
        var inside = new List<Visitor>();
        for (int i = 0; i < 10; i++)
        {
            var middle = new Visitor(gate, _lane, first);
            if (middle.Enter() == GateResult.Inside)
            {
                var last = new Visitor(gate, _lane, middle);
                inside.AddRange(last.Enter() == GateResult.Inside ? [last] : []);
            }

            middle.End();
        }

        Assert.That(inside, Has.Count.EqualTo(1));
        Assert.That((gate.Inside, gate.Waiting), Is.EqualTo((2, 0)));
        inside[0].End();
        Entered(gate, first);
    }

    [Test]
    public void NestedCall_OfACallThatEnds_GoesOn_AndNoOtherBegins()
    {
        using var rig = new ServedRig();
        var gate = new CallGate(limit: 1);
        RunningCall parent = Named(rig, gate, slot: 1);
        Assert.That(gate.TryEnter());
        parent.MakeFindable();
        var nested = new GateTicket(_lane, parent);
        var second = new GateTicket(_lane, parent);

        Assert.That(gate.TryEnter(nested));
        Assert.That(gate.TryEnter(second), Is.False, "one at a time");
        Assert.That(RunningCall.Find(parent.AsParent!, gate), Is.SameAs(parent));
        Assert.That(RunningCall.Find(parent.AsParent!, new CallGate(limit: 1)), Is.Null, "of another server");
        parent.End();
        gate.Leave(null, parent);

        Assert.That(gate.Inside, Is.EqualTo(1));
        Assert.That(RunningCall.Find(parent.AsParent!, gate), Is.Null);
        Assert.That(gate.TryEnter(second), Is.False);
        gate.Leave(nested);
        Assert.That(gate.Inside, Is.Zero);
    }

    [Test]
    public async Task NestedCall_ThatBeginsWhileItsParentEnds_IsCountedOnce()
    {
        var gate = new CallGate(limit: 1);
        var call = new Visitor(gate, _lane);
        var nested = new GateTicket(_lane, call.Running);
        bool isInside = false;
        int wrong = 0;
        using var step = new Barrier(2);

        await Task.WhenAll(
            Timeouts.OnThread(() =>
            {
                for (int i = 0; i < Rounds; i++)
                {
                    call = new Visitor(gate, _lane);
                    nested = new GateTicket(_lane, call.Running);
                    wrong += gate.TryEnter() ? 0 : 1;
                    step.SignalAndWait();
                    call.Running.End();
                    gate.Leave(null, call.Running);
                    step.SignalAndWait();
                    wrong += gate.Inside == (isInside ? 1 : 0) ? 0 : 1;
                    if (isInside)
                    {
                        gate.Leave(nested);
                    }

                    wrong += gate.Inside == 0 ? 0 : 1;
                }
            }),
            Timeouts.OnThread(() =>
            {
                for (int i = 0; i < Rounds; i++)
                {
                    step.SignalAndWait();
                    isInside = gate.TryEnter(nested);
                    step.SignalAndWait();
                }
            })).Bounded();

        Assert.That(wrong, Is.Zero);
    }

    [Test]
    public async Task Names_OfManyThreads_AreKnownUntilTheirCallsEnd()
    {
        const int Threads = 8;
        using var rig = new ServedRig();
        var gate = new CallGate(limit: null);

        Task<int>[] threads = [.. Enumerable.Range(0, Threads).Select(number => Timeouts.OnThread(() =>
        {
            int wrong = 0;
            for (int i = 0; i < Rounds; i++)
            {
                RunningCall call = Named(rig, gate, number);
                call.MakeFindable();
                ParentCall name = call.AsParent!;
                wrong += RunningCall.Find(name with { }, gate) == call ? 0 : 1;
                call.End();
                wrong += RunningCall.Find(name, gate) is null ? 0 : 1;
            }

            return wrong;
        }))];

        Assert.That((await Task.WhenAll(threads).Bounded()).Sum(), Is.Zero);
    }

    [Test]
    public async Task ManyThreads_EnterWaitAndLeave_AndNoneIsLost([Values(1, 3)] int limit)
    {
        const int Threads = 8;
        var gate = new CallGate(limit, isOfInstance: true);
        int inside = 0;
        int wrong = 0;

        await Task.WhenAll(Enumerable.Range(0, Threads).Select(_ => Timeouts.OnThread(() =>
        {
            for (int i = 0; i < Rounds; i++)
            {
                var call = new Visitor(gate, _lane);
                if (call.Enter() == GateResult.Waiting)
                {
                    call.Ticket.Granted.GetAwaiter().GetResult();
                }

                Interlocked.Add(ref wrong, Interlocked.Increment(ref inside) > limit ? 1 : 0);
                Interlocked.Decrement(ref inside);
                call.End();
            }
        }))).Bounded();

        Assert.That((wrong, gate.Inside, gate.Waiting), Is.EqualTo((0, 0, 0)));
    }

    [Test]
    public void RandomSteps_KeepTheLimit_AndEndWithAFreeGate([Range(1, 40)] int seed)
    {
        const int Limit = 2;
        const int Depth = 3;
        var random = new Random(seed);
        var gate = new CallGate(Limit, isOfInstance: true);
        var calls = new List<Visitor>();
        for (int step = 0; step < 500; step++)
        {
            Visitor? some = calls.Count > 0 ? calls[random.Next(calls.Count)] : null;
            switch (random.Next(4))
            {
                case 0:
                    bool isNested = some is { IsInside: true, Depth: < Depth };
                    var call = new Visitor(gate, new object(), isNested ? some : null);
                    if (call.Enter(maxWaiting: 5) != GateResult.Full)
                    {
                        calls.Add(call);
                    }

                    break;
                case 1:
                    some?.Running.YieldInstance();
                    break;
                case 2:
                    _ = some?.Running.ReenterInstanceAsync();
                    break;
                case 3 when some is not null:
                    some.End();
                    calls.Remove(some);
                    break;
            }

            int inside = calls.Count(one => one.IsInside);
            Assert.That(gate.Inside, Is.EqualTo(inside), $"step {step}");
            Assert.That(inside, Is.LessThanOrEqualTo(Limit * (1 + Depth)), $"step {step}");
            Assert.That(gate.Waiting > 0 && inside < Limit, Is.False, $"step {step}");
        }

        calls.ForEach(one => one.End());
        Entered(gate);
        Entered(gate);
    }

    [Test]
    public void CallsOfChains_AreFirstInTheirLaneAndKeepNoOtherLaneOut()
    {
        var gate = new CallGate(limit: 1);
        Visitor running = Entered(gate);
        Visitor passing = Entered(gate, running);
        Visitor late = Waiting(gate);
        Visitor[] ofChain = [Waiting(gate, running), Waiting(gate, running)];
        var other = new Visitor(gate, new object());
        Assert.That(other.Enter(), Is.EqualTo(GateResult.Waiting));
        running.End();
        passing.End();

        foreach (Visitor next in (Visitor[])[ofChain[0], other, ofChain[1], late])
        {
            Assert.That(next.IsInside, Is.True);
            Assert.That(gate.Inside, Is.EqualTo(1));
            next.End();
        }

        Assert.That((gate.Inside, gate.Waiting), Is.EqualTo((0, 0)));
    }

    [Test]
    public void CallOfAChain_ThatIsInside_PassesAndLeavesAsOne()
    {
        var gate = new CallGate(limit: 2);
        Visitor running = Entered(gate);
        Visitor nested = Entered(gate, running);

        Assert.That(gate.TryBorrowInside(nested.Ticket), Is.True);

        Visitor second = Waiting(gate, running);
        Assert.That((gate.Inside, nested.Ticket.HasBorrowed), Is.EqualTo((2, true)));
        Assert.That(gate.TryBorrowInside(nested.Ticket), Is.False, "It has the name.");
        nested.End();
        Assert.That((gate.Inside, gate.Waiting), Is.EqualTo((2, 0)));
        Assert.That(second.IsInside, Is.True);
    }

    private static RunningCall Named(ServedRig rig, CallGate gate, int slot) => new(
        new ServerCall(rig.Server) { Id = new CallId(slot, generation: 1, isFromAcceptor: false) }, gate);

    private Visitor Entered(CallGate gate, Visitor? above = null)
    {
        var call = new Visitor(gate, _lane, above);
        Assert.That(call.Enter(), Is.EqualTo(GateResult.Inside));
        return call;
    }

    private Visitor Waiting(CallGate gate, Visitor? above = null)
    {
        var call = new Visitor(gate, _lane, above);
        Assert.That(call.Enter(), Is.EqualTo(GateResult.Waiting));
        return call;
    }

    /// <summary>A call at a gate, with its name.</summary>
    private sealed class Visitor
    {
        private readonly CallGate _gate;
        private bool _hasEntered;

        public Visitor(CallGate gate, object lane, Visitor? above = null)
        {
            _gate = gate;
            Depth = above is null ? 0 : above.Depth + 1;
            Running = new RunningCall(new RecordingCall(isServed: true), gate, above?.Running);
            Ticket = new GateTicket(lane, above?.Running) { Gate = gate };
            Running.InstanceTicket = Ticket;
        }

        public int Depth { get; }

        public RunningCall Running { get; }

        public GateTicket Ticket { get; }

        public bool IsInside => Ticket.State == GateState.Inside;

        public GateResult Enter(int maxWaiting = int.MaxValue)
        {
            GateResult entered = _gate.TryEnter(Ticket) ? GateResult.Inside : _gate.EnterOrWait(Ticket, maxWaiting);
            _hasEntered = entered != GateResult.Full;
            return entered;
        }

        public void End()
        {
            Running.End();
            if (_hasEntered)
            {
                _gate.End(Ticket, Running);
            }
        }
    }
}
