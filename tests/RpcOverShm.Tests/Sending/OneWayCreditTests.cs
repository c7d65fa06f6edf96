using RpcOverShm.Protocol;
using RpcOverShm.Sending;

namespace RpcOverShm.Tests.Sending;

public class OneWayCreditTests
{
    [Test]
    public void Call_MayStart_WhileSomeCreditIsLeft_AndTakesItBelowZero()
    {
        var credit = new OneWayCredit(window: 1000);
        OneWayTurn? turn = null;

        bool first = credit.MayStart(isBlocking: false, ref turn);
        credit.Take(5000);
        OneWayTurn? turnOfFirst = turn;
        bool second = credit.MayStart(isBlocking: false, ref turn);

        Assert.That((first, second, turnOfFirst), Is.EqualTo((true, false, (OneWayTurn?)null)));
        Assert.That((credit.Bytes, credit.HasTurns, turn!.Due.IsCompleted), Is.EqualTo((-4000, true, false)));
    }

    [Test]
    public void WaitingCalls_GoInTheirOrder_AndNoneOvertakes()
    {
        OneWayCredit credit = Empty();
        OneWayTurn[] turns = [Wait(credit), Wait(credit)];
        OneWayTurn? late = null;

        credit.Add(1);
        bool isLate = credit.MayStart(isBlocking: false, ref late);
        OneWayTurn? second = turns[1];
        bool isSecond = credit.MayStart(isBlocking: false, ref second);
        OneWayTurn? first = turns[0];
        bool isFirst = credit.MayStart(isBlocking: false, ref first);
        bool isSecondDueBefore = turns[1].Due.IsCompleted;
        credit.Leave(turns[0]);

        Assert.That((isFirst, isSecond, isLate), Is.EqualTo((true, false, false)));
        Assert.That((isSecondDueBefore, turns[1].Due.IsCompleted), Is.EqualTo((false, true)));
    }

    [Test]
    public void FirstWaitingCall_ThatLeaves_LetsTheNextGo()
    {
        OneWayCredit credit = Empty();
        OneWayTurn first = Wait(credit);
        OneWayTurn second = Wait(credit);
        credit.Add(1);

        credit.Leave(first);

        Assert.That(second.Due.IsCompleted, Is.True);
        credit.Leave(second);
        Assert.That(credit.HasTurns, Is.False);
    }

    [Test]
    public void CallThatTriesInVain_WaitsAgain()
    {
        OneWayCredit credit = Empty();
        OneWayTurn? turn = Wait(credit);
        credit.WakeAll();
        bool wasDue = turn.Due.IsCompleted;

        bool mayStart = credit.MayStart(isBlocking: false, ref turn);

        Assert.That((wasDue, mayStart, turn!.Due.IsCompleted), Is.EqualTo((true, false, false)));
    }

    [Test]
    public void MoreCreditThanWasUsed_IsAViolation()
    {
        OneWayCredit credit = Empty();
        credit.Add(999);

        Assert.That(() => credit.Add(2), Throws.TypeOf<ProtocolException>());
        credit.Add(1);
        Assert.That(credit.Bytes, Is.EqualTo(1000));
    }

    [Test]
    public void Window_IsGrantedAgain_ByHalves_WhenRequestAndMethodAreOver()
    {
        var grants = new List<long>();
        var window = new OneWayWindow(1000, grants.Add);
        OneWayCharge[] charges = [new(window), new(window)];
        foreach (OneWayCharge charge in charges)
        {
            window.CheckStart();
            charge.Take(400);
        }

        charges[0].End();
        charges[1].Hold();
        charges[1].End();
        charges[1].End();
        int atFirst = grants.Count;
        charges[0].End();
        int afterOne = grants.Count;
        charges[1].End();

        Assert.That((atFirst, afterOne), Is.EqualTo((0, 0)));
        Assert.That(grants, Is.EqualTo(new long[] { 800 }));
    }

    [Test]
    public void Window_ThatIsUsedUp_TakesNoCall()
    {
        var window = new OneWayWindow(1000, _ => { });
        window.Take(999);
        window.CheckStart();
        window.Take(1);

        Assert.That(window.CheckStart, Throws.TypeOf<ProtocolException>());
        window.Return(500);
        window.CheckStart();
    }

    private static OneWayCredit Empty()
    {
        var credit = new OneWayCredit(window: 1000);
        credit.Take(1000);
        return credit;
    }

    private static OneWayTurn Wait(OneWayCredit credit)
    {
        OneWayTurn? turn = null;
        Assert.That(credit.MayStart(isBlocking: false, ref turn), Is.False);
        return turn!;
    }
}
