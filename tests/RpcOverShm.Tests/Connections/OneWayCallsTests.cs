using RpcOverShm.Connections;
using RpcOverShm.Protocol;

namespace RpcOverShm.Tests.Connections;

public class OneWayCallsTests
{
    private const int Window = 64 << 10;

    private readonly OutgoingCalls _outgoing = new(maxCalls: 8, isFromAcceptor: false);
    private readonly OneWayCalls _calls;

    public OneWayCallsTests() => _calls = new OneWayCalls(_outgoing, new PeerLimits(64 << 10, Window, MaxCalls: 8, 0));

    [Test]
    public void Call_MayStart_WhileSomeRoomIsLeft_AndTakesMore()
    {
        bool first = _calls.TryAdd(Call(Window - 1));
        bool second = _calls.TryAdd(Call(10 * Window));
        RecordingCall third = Call(1);
        bool isThird = _calls.TryAdd(third);

        Assert.That((first, second, isThird), Is.EqualTo((true, true, false)));
        Assert.That((_calls.Bytes, _calls.HasWaiters), Is.EqualTo((11L * Window - 1, true)));
        Assert.That((_outgoing.OneWayCounter.Count, _outgoing.TwoWayCounter.Count), Is.EqualTo((2, 0)));
        Assert.That(_calls.WhenCapacityMayBeFreeAsync(third).IsCompleted, Is.False);
    }

    [Test]
    public void WaitingCalls_GoInTheirOrder_AndNoneOvertakes()
    {
        RecordingCall running = Start(Window);
        RecordingCall[] waiting = [Wait(), Wait()];
        End(running);

        _calls.WakeFirst();
        bool isLate = _calls.TryAdd(Call(1));
        bool isSecond = _calls.TryAdd(waiting[1]);
        bool isSecondDueBefore = _calls.WhenCapacityMayBeFreeAsync(waiting[1]).IsCompleted;
        bool isFirst = _calls.TryAdd(waiting[0]);

        Assert.That((isFirst, isSecond, isLate), Is.EqualTo((true, false, false)));
        Assert.That(isSecondDueBefore, Is.False);
        Assert.That(_calls.WhenCapacityMayBeFreeAsync(waiting[1]).IsCompleted, Is.True);
    }

    [Test]
    public void FirstWaitingCall_ThatLeaves_LetsTheNextGo_AndWaitsNoLonger()
    {
        RecordingCall running = Start(Window);
        RecordingCall first = Wait();
        RecordingCall second = Wait();
        Task ofFirst = _calls.WhenCapacityMayBeFreeAsync(first);
        End(running);

        _calls.Leave(first);

        bool isSecondFree = _calls.WhenCapacityMayBeFreeAsync(second).IsCompleted;
        Assert.That((ofFirst.IsCompleted, isSecondFree), Is.EqualTo((true, true)));
        _calls.Leave(second);
        Assert.That(_calls.HasWaiters, Is.False);
    }

    [Test]
    public void CallThatTriesInVain_WaitsAgain()
    {
        Start(Window);
        RecordingCall call = Wait();
        _calls.WakeAll();
        bool wasDue = _calls.WhenCapacityMayBeFreeAsync(call).IsCompleted;

        bool mayStart = _calls.TryAdd(call);

        bool isDue = _calls.WhenCapacityMayBeFreeAsync(call).IsCompleted;
        Assert.That((wasDue, mayStart, isDue), Is.EqualTo((true, false, false)));
    }

    [Test]
    public void OneWayCalls_TakeHalfOfTheSlots()
    {
        RecordingCall[] running = [.. Enumerable.Range(0, 4).Select(_ => Start(1))];
        RecordingCall waiting = Wait();

        End(running[2]);
        _calls.WakeFirst();

        Assert.That(_calls.WhenCapacityMayBeFreeAsync(waiting).IsCompleted, Is.True);
        Assert.That(_calls.TryAdd(waiting), Is.True);
        Assert.That(_outgoing.TryAdd(new RecordingCall()), Is.True, "The others are for other calls.");
    }

    [Test]
    public void WaitingCall_IsWokenForHalfOfTheRoom_OrForAnyIfNoMoreIsExpected()
    {
        RecordingCall[] running = [Start(Window / 2), Start(Window / 4), Start(Window / 4)];
        RecordingCall waiting = Wait();

        End(running[1]);
        _calls.WakeFirstIfHalfFree();
        bool isDueForAQuarter = _calls.WhenCapacityMayBeFreeAsync(waiting).IsCompleted;
        End(running[2]);
        _calls.WakeFirstIfHalfFree();
        bool isDueForAHalf = _calls.WhenCapacityMayBeFreeAsync(waiting).IsCompleted;

        Assert.That((isDueForAQuarter, isDueForAHalf), Is.EqualTo((false, true)));
        Start(waiting);
        Start(Window / 4);
        Start(Window / 4);
        RecordingCall last = Wait();
        End(waiting);
        Assert.That(_calls.Bytes, Is.EqualTo(Window));
        End(running[0]);
        _calls.WakeFirst();
        Assert.That(_calls.WhenCapacityMayBeFreeAsync(last).IsCompleted, Is.True);
    }

    private static RecordingCall Call(long cost)
    {
        var call = new RecordingCall { IsOneWay = true };
        call.Sending.OneWayCost = cost;
        return call;
    }

    private RecordingCall Start(long cost) => Start(Call(cost));

    private RecordingCall Start(RecordingCall call)
    {
        Assert.That(_calls.TryAdd(call), Is.True);
        return call;
    }

    private RecordingCall Wait()
    {
        RecordingCall call = Call(0);
        Assert.That(_calls.TryAdd(call), Is.False);
        return call;
    }

    private void End(RecordingCall call)
    {
        _outgoing.Remove(call);
        _calls.Return(call);
    }
}
