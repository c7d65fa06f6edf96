using RpcOverShm.Calls;

namespace RpcOverShm.Tests.Calls;

/// <content>Calls let others in, return, and borrow the place of one at the same gate.</content>
public partial class CallGateTests
{
    [Test]
    public void Yield_LetsAnotherCallIn_AndTheFirstGoesOnBeforeNewCalls()
    {
        var gate = new CallGate(limit: 1, isOfInstance: true);
        Visitor first = Entered(gate);
        Visitor second = Waiting(gate);
        Visitor third = Waiting(gate);

        first.Running.YieldInstance();
        Assert.That(second.IsInside, Is.True);
        Task again = first.Running.ReenterInstanceAsync();
        Assert.That(again.IsCompleted, Is.False);
        Assert.That(first.Running.ReenterInstanceAsync(), Is.SameAs(again), "another callback of the same call");
        second.End();
        Assert.That((again.IsCompleted, third.IsInside), Is.EqualTo((true, false)));
        Assert.That(first.Running.ReenterInstanceAsync().IsCompleted, Is.True);
        first.End();

        Assert.That(third.IsInside, Is.True);
    }

    [Test]
    public void Yield_OfACallThatHasEnded_OrWaits_ChangesNothing()
    {
        var gate = new CallGate(limit: 1, isOfInstance: true);
        Visitor first = Entered(gate);
        first.Running.YieldInstance();
        Visitor second = Entered(gate);
        Task again = first.Running.ReenterInstanceAsync();
        first.Running.YieldInstance();
        first.End();
        first.Running.YieldInstance();

        Assert.That(again.IsCompleted, Is.True, "nobody waits for an ended call");
        Assert.That(first.Running.ReenterInstanceAsync().IsCompleted, Is.True);
        Visitor third = Waiting(gate);
        second.End();
        Assert.That(third.IsInside, Is.True);
        Waiting(gate); // The place is taken once.
    }

    [Test]
    public void CallOfAChain_BorrowsThePlaceOfTheOneInFront_OneAtATime()
    {
        var gate = new CallGate(limit: 1, isOfInstance: true);
        Visitor first = Entered(gate);
        Visitor nested = Entered(gate, first);
        Visitor deeper = Entered(gate, nested);
        Visitor sibling = Waiting(gate, first);

        Assert.That(new Visitor(gate, _lane).Enter(maxWaiting: 0), Is.EqualTo(GateResult.Full), "of no chain");
        deeper.End();
        Assert.That(sibling.IsInside, Is.False);
        nested.End();
        Assert.That(sibling.IsInside, Is.True);
        sibling.End();
        Assert.That(new Visitor(gate, _lane).Enter(maxWaiting: 0), Is.EqualTo(GateResult.Full), "the first still runs");
        first.End();
        Entered(gate);
    }

    [Test]
    public void CallOfAChain_GoesOn_WhenTheOneInFrontEndsOrLetsGo([Values] bool isEnd)
    {
        var gate = new CallGate(limit: 1, isOfInstance: true);
        Visitor first = Entered(gate);
        Visitor nested = Entered(gate, first);
        Visitor other = Waiting(gate);
        if (isEnd)
        {
            first.End();
        }
        else
        {
            first.Running.YieldInstance();
        }

        Assert.That(other.IsInside, Is.False, "the nested call is inside");
        nested.End();

        Assert.That(other.IsInside, Is.True);
    }

    [Test]
    public void NestedCall_ThatLetsGo_PassesAgainWhenItReturns()
    {
        var gate = new CallGate(limit: 1, isOfInstance: true);
        Visitor first = Entered(gate);
        Visitor nested = Entered(gate, first);
        nested.Running.YieldInstance();
        Visitor sibling = Entered(gate, first);
        Task again = nested.Running.ReenterInstanceAsync();
        Assert.That(again.IsCompleted, Is.False);

        sibling.End();

        Assert.That(again.IsCompleted, Is.True);
    }

    // The first awaits two callbacks, and the second of them needs the instance.
    [Test]
    public void CallOfAChain_PassesWhenTheOneInFrontReturns()
    {
        var gate = new CallGate(limit: 1, isOfInstance: true);
        Visitor first = Entered(gate);
        first.Running.YieldInstance();
        Visitor other = Entered(gate);
        Visitor nested = Waiting(gate, first);
        Task again = first.Running.ReenterInstanceAsync();

        other.End();
        Assert.That((nested.IsInside, again.IsCompleted), Is.EqualTo((true, false)), "in their order");
        nested.End();
        Assert.That(again.IsCompleted, Is.True);
        first.Running.YieldInstance();
        other = Entered(gate);
        again = first.Running.ReenterInstanceAsync();
        nested = Waiting(gate, first);
        other.End();

        Assert.That((again.IsCompleted, nested.IsInside), Is.EqualTo((true, true)));
    }

    [Test]
    public void FindAbove_SkipsCallsOfOtherGates()
    {
        var gate = new CallGate(limit: 1, isOfInstance: true);
        Visitor top = Entered(gate);
        Visitor middle = Entered(new CallGate(limit: 1, isOfInstance: true), top);

        Assert.That(new Visitor(gate, _lane, middle).Running.FindAbove(gate), Is.SameAs(top.Running));
        Assert.That(top.Running.FindAbove(gate), Is.Null);
    }
}
