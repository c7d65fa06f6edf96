using RpcOverShm.Calls;
using RpcOverShm.Protocol;
using RpcOverShm.Servers;

namespace RpcOverShm.Tests.Servers;

/// <summary>Calls run on an instance and wait for it in order.</summary>
[TestFixture]
public class InstanceGateTests
{
    [Test]
    public void Enter_BeyondTheLimit_WaitsInOrder()
    {
        var gate = new InstanceGate(limit: 2, maxQueued: 2);
        InstanceTurn[] turns = [.. Enumerable.Range(0, 5).Select(_ => new InstanceTurn(gate))];
        Task?[] entered = [.. turns.Select(gate.Enter)];

        bool?[] expected = [true, true, false, false, null];
        Assert.That(entered.Select(task => task?.IsCompleted), Is.EqualTo(expected));
        turns[1].Exit();
        Assert.That(entered[2]!.IsCompleted, Is.True);
        Assert.That(entered[3]!.IsCompleted, Is.False);
        turns[0].Exit();
        Assert.That(entered[3]!.IsCompleted, Is.True);
    }

    [Test]
    public void Exit_OfAWaitingCall_LeavesTheQueue()
    {
        var gate = new InstanceGate(limit: 1, maxQueued: 1);
        InstanceTurn first = Entered(gate);
        var left = new InstanceTurn(gate);
        _ = gate.Enter(left);
        left.Exit();
        Assert.That(gate.Queued, Is.Zero);
        var next = new InstanceTurn(gate);
        Task entered = gate.Enter(next)!;

        first.Exit();

        Assert.That(entered.IsCompleted, Is.True);
        next.Exit();
        Assert.That(gate.Enter(new InstanceTurn(gate))!.IsCompleted, Is.True);
    }

    [Test]
    public void LetGo_LetsAnotherCallIn_AndTheFirstGoesOnBeforeNewCalls()
    {
        var gate = new InstanceGate(limit: 1, maxQueued: 10);
        InstanceTurn first = Entered(gate);
        var second = new InstanceTurn(gate);
        var third = new InstanceTurn(gate);
        Task secondIn = gate.Enter(second)!;
        Task thirdIn = gate.Enter(third)!;

        first.LetGo();
        Assert.That(secondIn.IsCompleted, Is.True);
        Task firstIn = first.TakeAgainAsync();
        Assert.That(firstIn.IsCompleted, Is.False);
        Assert.That(first.TakeAgainAsync(), Is.SameAs(firstIn), "another callback of the same call");
        second.Exit();
        Assert.That((firstIn.IsCompleted, thirdIn.IsCompleted), Is.EqualTo((true, false)));
        Assert.That(first.TakeAgainAsync().IsCompleted, Is.True);
        first.Exit();

        Assert.That(thirdIn.IsCompleted, Is.True);
    }

    [Test]
    public void LetGo_OfACallThatHasEnded_OrWaits_ChangesNothing()
    {
        var gate = new InstanceGate(limit: 1, maxQueued: 10);
        InstanceTurn first = Entered(gate);
        first.LetGo();
        InstanceTurn second = Entered(gate);
        Task again = first.TakeAgainAsync();
        first.LetGo();
        first.Exit();
        first.LetGo();

        Assert.That(again.IsCompleted, Is.True, "nobody waits for an ended call");
        Assert.That(first.TakeAgainAsync().IsCompleted, Is.True);
        Assert.That(gate.Enter(new InstanceTurn(gate))!.IsCompleted, Is.False);
        second.Exit();
        Assert.That(gate.Enter(new InstanceTurn(gate))!.IsCompleted, Is.False, "the place is taken once");
    }

    [Test]
    public void CallOfAChain_RunsInThePlaceOfTheOneInFront_OneAtATime()
    {
        var gate = new InstanceGate(limit: 1, maxQueued: 0);
        InstanceTurn first = Entered(gate);
        InstanceTurn nested = Entered(gate, first);
        InstanceTurn deeper = Entered(gate, nested);
        var sibling = new InstanceTurn(gate, first);
        Task siblingIn = gate.Enter(sibling)!;

        Assert.That(siblingIn.IsCompleted, Is.False);
        Assert.That(gate.Enter(new InstanceTurn(gate)), Is.Null, "of no chain");
        deeper.Exit();
        Assert.That(siblingIn.IsCompleted, Is.False);
        nested.Exit();
        Assert.That(siblingIn.IsCompleted, Is.True);
        sibling.Exit();
        Assert.That(gate.Enter(new InstanceTurn(gate)), Is.Null, "the first still runs");
        first.Exit();
        Assert.That(gate.Enter(new InstanceTurn(gate))!.IsCompleted, Is.True);
    }

    [Test]
    public void CallOfAChain_GoesOn_WhenTheOneInFrontEndsOrLetsGo([Values] bool isEnd)
    {
        var gate = new InstanceGate(limit: 1, maxQueued: 1);
        InstanceTurn first = Entered(gate);
        InstanceTurn nested = Entered(gate, first);
        var other = new InstanceTurn(gate);
        Task otherIn = gate.Enter(other)!;
        if (isEnd)
        {
            first.Exit();
        }
        else
        {
            first.LetGo();
        }

        Assert.That(otherIn.IsCompleted, Is.False, "the nested call has the place");
        nested.Exit();

        Assert.That(otherIn.IsCompleted, Is.True);
    }

    [Test]
    public void NestedCall_ThatLetsGo_TakesThePlaceOfTheOneInFrontAgain()
    {
        var gate = new InstanceGate(limit: 1, maxQueued: 1);
        InstanceTurn first = Entered(gate);
        InstanceTurn nested = Entered(gate, first);
        nested.LetGo();
        InstanceTurn sibling = Entered(gate, first);
        Task again = nested.TakeAgainAsync();
        Assert.That(again.IsCompleted, Is.False);

        sibling.Exit();

        Assert.That(again.IsCompleted, Is.True);
    }

    [Test]
    public void FindAbove_SkipsCallsOfOtherGates()
    {
        var gate = new InstanceGate(limit: 1, maxQueued: 1);
        var turn = new InstanceTurn(gate);
        AmbientCall top = Ambient(null);
        top.Hold = turn;
        AmbientCall middle = Ambient(top);
        middle.Hold = new InstanceTurn(new InstanceGate(limit: 1, maxQueued: 1));

        Assert.That(InstanceTurn.FindAbove(Ambient(middle), gate), Is.SameAs(turn));
        Assert.That(InstanceTurn.FindAbove(top, gate), Is.Null);
        Assert.That(InstanceTurn.FindAbove(null, gate), Is.Null);
    }

    [Test]
    public void RandomSteps_KeepTheLimit_AndEndWithAFreeGate([Range(1, 40)] int seed)
    {
        const int Limit = 2;
        var random = new Random(seed);
        var gate = new InstanceGate(Limit, maxQueued: 5);
        var turns = new List<InstanceTurn>();
        for (int step = 0; step < 500; step++)
        {
            InstanceTurn? some = turns.Count > 0 ? turns[random.Next(turns.Count)] : null;
            switch (random.Next(4))
            {
                case 0:
                    var turn = new InstanceTurn(gate, some?.State == InstanceTurnState.Inside ? some : null);
                    if (gate.Enter(turn) is not null)
                    {
                        turns.Add(turn);
                    }

                    break;
                case 1:
                    some?.LetGo();
                    break;
                case 2:
                    _ = some?.TakeAgainAsync();
                    break;
                case 3 when some is not null:
                    some.Exit();
                    turns.Remove(some);
                    break;
            }

            // Of those inside, one that has lent its place waits for its nested call.
            int running = turns.Count(one => one.State == InstanceTurnState.Inside && one.Borrower is null);
            bool isAnyWaiting = turns.Any(one => one.State == InstanceTurnState.Waiting);
            Assert.That(running, isAnyWaiting ? Is.EqualTo(Limit) : Is.LessThanOrEqualTo(Limit), $"step {step}");
        }

        turns.ForEach(one => one.Exit());
        Entered(gate);
        Entered(gate);
    }

    private static InstanceTurn Entered(InstanceGate gate, InstanceTurn? above = null)
    {
        var turn = new InstanceTurn(gate, above);
        Assert.That(gate.Enter(turn)?.IsCompleted, Is.True);
        return turn;
    }

    private static AmbientCall Ambient(AmbientCall? parent) => new(new ParentCall(Guid.Empty, CallId.None), 0, parent);
}
