using RpcOverShm.Scheduling;
using RpcOverShm.Tests.Systems;

namespace RpcOverShm.Tests.Scheduling;

/// <summary>A source of an event loop with a wire, whose work, state and user code the test chooses.</summary>
internal sealed class FakeSource : EventSource, IDisposable
{
    private readonly WirePair _wires = new();
    private int _work;
    private int _done;
    private int _runs;
    private int _inRun;

    /// <summary>Runs in each run, as work without user code.</summary>
    public Action? OnRun { get; set; }

    /// <summary>User code of the next run.</summary>
    public Action? UserCode { get; set; }

    /// <summary>Whether there is always work.</summary>
    public bool IsBusy { get; set; }

    public bool MayPark { get; set; } = true;

    public bool NeedsReaderOnce { get; set; }

    /// <summary>The doorbell that seems to be missing.</summary>
    public MissedDoorbell? Missed { get; set; }

    public int Runs => Volatile.Read(ref _runs);

    public int Done => Volatile.Read(ref _done);

    public int Doorbells { get; private set; }

    /// <summary>The number of runs at the last time that the socket was drained.</summary>
    public int RunsAtDrain { get; private set; }

    public bool HasEnded { get; private set; }

    public int Entered { get; private set; }

    public int Left { get; private set; }

    public int LostDoorbells { get; private set; }

    public int TakeOvers { get; private set; }

    public bool WasRunTwiceAtOnce { get; private set; }

    /// <summary>The result of the last run with user code: whether its thread kept the loop.</summary>
    public bool? HasKeptLoop { get; private set; }

    public override bool HasWork => IsBusy;

    public override bool NeedsReader
    {
        get
        {
            bool isUnattended = NeedsReaderOnce;
            NeedsReaderOnce = false;
            return isUnattended;
        }
    }

    public void AddTo(EventLoop loop) => Assert.That(loop.Add(this, _wires.ServerWire), Is.Null);

    public void AddTo(EventLoopGroup group) => Assert.That(group.Add(this, _wires.ServerWire), Is.Null);

    public void RemoveFrom(EventLoop loop)
    {
        loop.Unwatch(_wires.ServerWire);
        loop.Remove(this);
    }

    /// <summary>Adds work, which only a request or a doorbell lets the loop see.</summary>
    public void AddWork() => Interlocked.Increment(ref _work);

    public void Ring() => Assert.That(_wires.ClientWire.Ring(1), Is.Null);

    public void EndSocket() => _wires.ClientWire.Dispose();

    public override bool Run(LoopThread me)
    {
        WasRunTwiceAtOnce |= Interlocked.Exchange(ref _inRun, 1) != 0;
        Interlocked.Add(ref _done, Interlocked.Exchange(ref _work, 0));
        Interlocked.Increment(ref _runs);
        OnRun?.Invoke();
        Volatile.Write(ref _inRun, 0);
        if (UserCode is not { } code)
        {
            return true;
        }

        UserCode = null;
        me.Loop.BeginUserCode(me);
        code();
        HasKeptLoop = me.Loop.EndUserCode(me);
        return HasKeptLoop.Value;
    }

    public override bool TryPark() => MayPark && Volatile.Read(ref _work) == 0;

    public override void OnSocket()
    {
        Doorbells++;
        Request();
    }

    public override void DrainSocket(bool hasEnded)
    {
        RunsAtDrain = Runs;
        HasEnded |= hasEnded;
        var bytes = new byte[64];
        while (_wires.ServerWire.Receive(bytes, []) > 0)
        {
        }
    }

    public override void OnTakeOverStarting() => TakeOvers++;

    public override void OnLoopLost() => Request();

    public override bool TryEnter()
    {
        Entered++;
        return true;
    }

    public override void Leave() => Left++;

    public void Dispose() => _wires.Dispose();

    protected override MissedDoorbell? FindMissedDoorbell() => Missed;

    protected override void OnLostDoorbell() => LostDoorbells++;
}
