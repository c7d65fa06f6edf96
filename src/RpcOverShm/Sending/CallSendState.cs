using System.Diagnostics;
using RpcOverShm.Protocol;

namespace RpcOverShm.Sending;

/// <summary>
/// What the sender knows of one call: its credit and what waits to be sent. Every member is touched under
/// the sender's gate only.
/// </summary>
internal struct CallSendState
{
    private OutboundFrame? _last; // of what waits; the first comes after it
    private Flags _flags;         // one byte: a call is small

    /// <summary>The frame to send next; null when nothing waits.</summary>
    public readonly OutboundFrame? First => _last?.Next;

    /// <summary>Bytes of messages that the peer still takes.</summary>
    public long Window { get; set; }

    /// <summary>Credit for the peer that did not fit into the ring yet: one sum, however often it grew.</summary>
    public uint PendingCredit { get; set; }

    /// <summary>True when the call must still be cancelled at the peer.</summary>
    public bool IsCancelPending
    {
        readonly get => (_flags & Flags.IsCancelPending) != 0;
        set => Set(Flags.IsCancelPending, value);
    }

    /// <summary>
    /// True when the cancel must not come before the half-close: the call's user was told that this had gone.
    /// </summary>
    public bool IsHalfClosePending
    {
        readonly get => (_flags & Flags.IsHalfClosePending) != 0;
        set => Set(Flags.IsHalfClosePending, value);
    }

    /// <summary>True while the call stands in the sender's queue of calls with a frame that can go on.</summary>
    public bool IsReady
    {
        readonly get => (_flags & Flags.IsReady) != 0;
        set => Set(Flags.IsReady, value);
    }

    /// <summary>
    /// True while the call stands in the sender's queue of calls that owe the peer credit or a cancel.
    /// </summary>
    public bool IsInControl
    {
        readonly get => (_flags & Flags.IsInControl) != 0;
        set => Set(Flags.IsInControl, value);
    }

    /// <summary>
    /// True once no message of the call is sent any more, but for its end: the peer may give no credit for one.
    /// </summary>
    public readonly bool IsCutShort => (_flags & Flags.IsCutShort) != 0;

    /// <summary>True while a message is in the ring in part.</summary>
    public bool IsMessageBegun
    {
        readonly get => (_flags & Flags.IsMessageBegun) != 0;
        set => Set(Flags.IsMessageBegun, value);
    }

    /// <summary>
    /// True while the holder of the reader role sends what the peer's credit for the call allows. Who waits for a frame
    /// that is finished meanwhile is woken as work of the call, which the holder looks at next.
    /// </summary>
    public bool IsWithReader
    {
        readonly get => (_flags & Flags.IsWithReader) != 0;
        set => Set(Flags.IsWithReader, value);
    }

    /// <summary>True once no message may be sent in parts any more: the call is about to end.</summary>
    public bool IsWithoutParts
    {
        readonly get => (_flags & Flags.IsWithoutParts) != 0;
        set => Set(Flags.IsWithoutParts, value);
    }

    public CallSendPhase Phase { get; set; }

    public readonly bool HasQueued => _last is not null;

    /// <summary>True when nothing of the call waits but its half-close.</summary>
    public readonly bool HasOnlyHalfClose => First is { Kind: FrameKind.HalfClose } && !IsMessageBegun;

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
        Debug.Assert(frame is not null, "Only a queued frame is taken.");
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

    /// <summary>Sends no more messages: drops those that wait, and keeps what else does.</summary>
    public void CutShort()
    {
        Set(Flags.IsCutShort, true);
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

    private void Set(Flags flag, bool value) => _flags = value ? _flags | flag : _flags & ~flag;

    [Flags]
    private enum Flags : byte
    {
        IsCancelPending = 1,
        IsReady = 2,
        IsInControl = 4,
        IsCutShort = 8,
        IsMessageBegun = 16,
        IsWithReader = 32,
        IsWithoutParts = 64,
        IsHalfClosePending = 128,
    }
}

/// <summary>How far the sending of a call has come.</summary>
internal enum CallSendPhase : byte
{
    /// <summary>The peer knows nothing of the call.</summary>
    New,

    /// <summary>The call's first frame is in the ring.</summary>
    Open,

    /// <summary>Nothing may be sent any more: the call has ended or was given up.</summary>
    Finished,
}
