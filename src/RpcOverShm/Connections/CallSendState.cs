using System.Diagnostics;
using RpcOverShm.Protocol;

namespace RpcOverShm.Connections;

/// <summary>The send state of one call: its credit and its queued frames. Guarded by the sender's gate.</summary>
internal struct CallSendState
{
    private OutboundFrame? _last; // the last queued frame; its Next is the first
    private long _creditOrCost;   // the credit, or the cost of a one-way call, which uses no credit
    private SendStateFlags _flags;

    /// <summary>The next frame to send, or null if none is queued.</summary>
    public readonly OutboundFrame? First => _last?.Next;

    /// <summary>
    /// The number of message bytes that the peer still accepts; at first the window. Shares its word with
    /// <see cref="OneWayCost"/>: a call uses only one of the two.
    /// </summary>
    public long Credit
    {
        readonly get => _creditOrCost;
        set => _creditOrCost = value;
    }

    /// <summary>
    /// The cost of a one-way call in the window of one-way calls; see <see cref="OneWayCalls"/>. Shares its word with
    /// <see cref="Credit"/>. A one-way call uses no credit, because its single request is free and its response has no
    /// message.
    /// </summary>
    public long OneWayCost
    {
        readonly get => _creditOrCost;
        set => _creditOrCost = value;
    }

    /// <summary>Credit granted to the peer, but not written to the ring yet; the sum of all grants.</summary>
    public uint UnsentGrant { get; set; }

    public CallSendPhase Phase { get; set; }

    public readonly bool HasQueued => _last is not null;

    /// <summary>Whether only the half-close is queued and no message is partly sent.</summary>
    public readonly bool HasOnlyHalfClose => First is { Kind: FrameKind.HalfClose } && !Is(SendStateFlags.MessageBegun);

    public void Enqueue(OutboundFrame frame)
    {
        frame.Next = First ?? frame;
        if (_last is not null)
        {
            _last.Next = frame;
        }

        _last = frame;
    }

    public OutboundFrame Dequeue()
    {
        OutboundFrame frame = First!;
        Debug.Assert(frame is not null, "The queue is not empty.");
        if (frame == _last)
        {
            _last = null;
        }
        else
        {
            _last!.Next = frame.Next;
        }

        frame.Next = null;
        return frame;
    }

    /// <summary>Drops the queued messages and sends no new ones. Other queued frames stay.</summary>
    public void StopMessages()
    {
        Set(SendStateFlags.MessagesStopped);
        var others = default(CallSendState);
        while (HasQueued)
        {
            OutboundFrame frame = Dequeue();
            if (frame.Kind == FrameKind.Message)
            {
                frame.Finish();
            }
            else
            {
                others.Enqueue(frame);
            }
        }

        _last = others._last;
    }

    public readonly bool Is(SendStateFlags flag) => (_flags & flag) != 0;

    public void Set(SendStateFlags flag, bool value = true) => _flags = value ? _flags | flag : _flags & ~flag;
}

/// <summary>The flags of a call's send state.</summary>
[Flags]
internal enum SendStateFlags : byte
{
    /// <summary>A cancel frame must still be sent to the peer.</summary>
    CancelPending = 1,

    /// <summary>A half-close that was reported to the user as sent must be written before the pending cancel.</summary>
    HalfClosePending = 2,

    /// <summary>The call is in the sender's queue of calls with a frame to send.</summary>
    Ready = 4,

    /// <summary>The call is in the sender's queue of calls that owe the peer credit or a cancel.</summary>
    ControlQueued = 8,

    /// <summary>
    /// No more messages of the call are sent, only its End frame: credit for a message may never arrive.
    /// </summary>
    MessagesStopped = 16,

    /// <summary>A message is partly in the ring.</summary>
    MessageBegun = 32,

    /// <summary>
    /// The holder of the reader role is sending frames that new credit allows. If such a frame completes a write, the
    /// write's continuation becomes pending user code of the call. The holder runs or queues that code afterwards.
    /// </summary>
    ReaderSends = 64,

    /// <summary>Unfinished messages may send no more parts, because the call is about to end.</summary>
    PartsStopped = 128,
}

/// <summary>The progress of sending a call.</summary>
internal enum CallSendPhase : byte
{
    /// <summary>The peer does not know the call.</summary>
    New,

    /// <summary>The call's first frame is in the ring.</summary>
    Open,

    /// <summary>
    /// Only a pending cancel, and the half-close before it, may still be sent: the call has ended or was abandoned.
    /// </summary>
    Finished,

    /// <summary>
    /// Nothing was sent, and nothing will be: the call was abandoned, and its slot may have another call.
    /// </summary>
    Withdrawn,
}
