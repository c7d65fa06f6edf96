using RpcOverShm.Explorer.Model;
using RpcOverShm.Links;
using RpcOverShm.Linux;
using RpcOverShm.Protocol;
using RpcOverShm.Rings;
using RpcOverShm.Scheduling;
using RpcOverShm.Segments;
using RpcOverShm.Systems;

namespace RpcOverShm.Explorer.Shims;

/// <summary>
/// The link without its socket, its log and its users. The members that sleep, wake and read are those of the product,
/// token for token (<c>ShimTests</c>); the flags are words of the model, because several threads use them.
/// </summary>
internal sealed class PeerLink
{
    private readonly SharedSegment _own;
    private readonly SharedSegment _peer;
    private readonly RoleRun _run;
    private readonly FutexSignal _signal = new(useWaitv: true);

    public PeerLink(SharedSegment own, SharedSegment peer, RoleRun run)
    {
        _own = own;
        _peer = peer;
        _run = run;
        Writer = new RingWriter(own, peer) { OnGrowthWanted = () => Writer!.AllowMove() };
        Reader = new RingReader(own, peer);
    }

    public RingWriter Writer { get; }

    public RingReader Reader { get; }

    public string Identity => "the peer";

    public CloseReason? CloseReason =>
        Read(MemoryMap.Closed) is var closed and not 0 ? new CloseReason((CloseKind)(closed - 1), "closed") : null;

    public bool IsClosed => CloseReason is not null;

    public bool IsPeerGone => Read(MemoryMap.PeerGone) != 0;

    public bool SealIfPeerGone()
    {
        if (!IsPeerGone)
        {
            return false;
        }

        Reader.SealTail();
        return true;
    }

    public bool IsPeerLeaving { get; set; }

    public uint LocalEvents => _signal.LocalEvents;

    public bool SleepForData(long position, uint localEventsSeen, TimeSpan? timeout = null) => _signal.Wait(
        new SharedWord(ref _peer.Tail),
        SharedWord.LowHalf(position),
        localEventsSeen,
        timeout ?? WaitBounds.SafetyTimeout);

    public void SleepForSpace(long head, uint localEventsSeen) =>
        _signal.Wait(
            new SharedWord(ref _peer.Head), SharedWord.LowHalf(head), localEventsSeen, WaitBounds.SafetyTimeout);

    public void WakePeerForData(WakeMethods wakeMethods)
    {
        if ((wakeMethods & WakeMethods.Futex) != 0 && TryEnter())
        {
            _signal.Wake(new SharedWord(ref _own.Tail));
            Leave();
        }

        RingSocket(wakeMethods);
    }

    public void WakePeerForSpace(WakeMethods wakeMethods)
    {
        if ((wakeMethods & WakeMethods.Futex) != 0)
        {
            _signal.Wake(new SharedWord(ref _own.Head));
        }

        RingSocket(wakeMethods);
    }

    /// <summary>Requests the event loop of this side: it then looks at its ring, as the product's does.</summary>
    public void WakeLoop() => _signal.Wake(new SharedWord(ref _peer.Tail));

    public void RaiseLocalEvent() => _signal.RaiseLocalEvent();

    public bool WaitForLateWake(uint localEventsSeen)
    {
        var tail = new SharedWord(ref _peer.Tail);
        return _signal.Wait(tail, tail.Read(), localEventsSeen, WaitBounds.LateWake);
    }

    public void OnSafetyTimeout(bool isLostWakeup) =>
        RoleContext.Fail($"A sleep timed out in the model (lost: {isLostWakeup}).");

    public bool IsWakeupLost(uint localEventsSeen, long begun) =>
        throw new ModelViolationException($"A sleep from {begun} timed out ({localEventsSeen}).");

    public bool TryReadFrame(out FrameHeader frame, out ReadOnlySpan<byte> payload)
    {
        if (!Reader.TryRead(out RecordHeader record, out payload))
        {
            frame = default;
            return false;
        }

        frame = new FrameHeader(
            (FrameKind)record.Kind,
            (FrameFlags)record.Flags,
            record.HeadLength,
            new CallId(record.StreamId),
            record.Argument,
            payload.Length);
        return frame.Check() is { } problem ? throw new ProtocolException($"The peer sent {problem}.") : true;
    }

    public void Close(CloseReason reason)
    {
        if (_run.Perform(new Op(OpKind.SetIfZero, At(MemoryMap.Closed), (long)reason.Kind + 1)) != 0)
        {
            return;
        }

        _run.Perform(new Op(OpKind.WriteFenced, At(MemoryMap.SocketClosed), 1));
        RaiseLocalEvent();
    }

    public void CloseForViolation(Exception exception) =>
        Close(new CloseReason(CloseKind.PeerViolation, exception.Message, exception));

    public void CloseAfterPeer() => Close(IsPeerLeaving
        ? new CloseReason(CloseKind.PeerClosed, "closed")
        : new CloseReason(CloseKind.PeerLost, "gone"));

    /// <summary>Notes the end of the peer's socket, as the thread that watches it does.</summary>
    public void OnPeerGone()
    {
        _run.Store(At(MemoryMap.PeerGone), 1, isRelease: true);
        RaiseLocalEvent();
    }

    /// <summary>Keeps the memory mapped. The model never unmaps it.</summary>
    public bool TryEnter() => true;

    public void Leave()
    {
        // The model never unmaps the memory.
    }

    // A byte on the socket ends the sleep of an event loop, whatever it waits for. In the model a loop sleeps on the
    // word of the position for which it is armed.
    private void RingSocket(WakeMethods wakeMethods)
    {
        if ((wakeMethods & WakeMethods.Doorbell) != 0)
        {
            _signal.Wake(new SharedWord(ref _own.Tail));
            _signal.Wake(new SharedWord(ref _own.Head));
        }
    }

    private long Read(int word) => _run.HasEvents ? _run.Perform(new Op(OpKind.Read, At(word))) : 0;

    private int At(int word) => MemoryMap.Private(_run.Process, word);
}
