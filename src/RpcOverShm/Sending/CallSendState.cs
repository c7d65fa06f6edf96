using System.Diagnostics;
using RpcOverShm.Protocol;

namespace RpcOverShm.Sending;

/// <summary>The send state of one call: its credit and its queued frames. Guarded by the sender's gate.</summary>
internal struct CallSendState
{
    private OutboundFrame? _last; // the last queued frame; its Next is the first
    private Flags _flags;         // one byte keeps each call small

    /// <summary>The next frame to send, or null if none is queued.</summary>
    public readonly OutboundFrame? First => _last?.Next;

    /// <summary>Credit: the number of message bytes that the peer still accepts.</summary>
    public long Window { get; set; }

    /// <summary>Credit granted to the peer, but not written to the ring yet; the sum of all grants.</summary>
    public uint PendingCredit { get; set; }

    /// <summary>Whether a cancel frame must still be sent to the peer.</summary>
    public bool IsCancelPending
    {
        readonly get => (_flags & Flags.IsCancelPending) != 0;
        set => Set(Flags.IsCancelPending, value);
    }

    /// <summary>Whether a half-close, which the user takes for sent, must go before the pending cancel.</summary>
    public bool IsHalfClosePending
    {
        readonly get => (_flags & Flags.IsHalfClosePending) != 0;
        set => Set(Flags.IsHalfClosePending, value);
    }

    /// <summary>Whether the call is in the sender's queue of calls with a frame to send.</summary>
    public bool IsReady
    {
        readonly get => (_flags & Flags.IsReady) != 0;
        set => Set(Flags.IsReady, value);
    }

    /// <summary>Whether the call is in the sender's queue of calls that owe the peer credit or a cancel.</summary>
    public bool IsInControl
    {
        readonly get => (_flags & Flags.IsInControl) != 0;
        set => Set(Flags.IsInControl, value);
    }

    /// <summary>Whether the call sends no more messages, only its end: credit for a message may never come.</summary>
    public readonly bool IsCutShort => (_flags & Flags.IsCutShort) != 0;

    /// <summary>Whether a message is partly in the ring.</summary>
    public bool IsMessageBegun
    {
        readonly get => (_flags & Flags.IsMessageBegun) != 0;
        set => Set(Flags.IsMessageBegun, value);
    }

    /// <summary>
    /// Whether the holder of the reader role is sending frames that new credit from the peer allows. Waking a writer
    /// that waits for such a frame is then pending user code of the call; the holder runs or queues it afterwards.
    /// </summary>
    public bool IsWithReader
    {
        readonly get => (_flags & Flags.IsWithReader) != 0;
        set => Set(Flags.IsWithReader, value);
    }

    /// <summary>Whether unfinished messages may send no more parts, because the call is about to end.</summary>
    public bool IsWithoutParts
    {
        readonly get => (_flags & Flags.IsWithoutParts) != 0;
        set => Set(Flags.IsWithoutParts, value);
    }

    public CallSendPhase Phase { get; set; }

    public readonly bool HasQueued => _last is not null;

    /// <summary>Whether only the half-close is queued and no message is partly sent.</summary>
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

    /// <summary>Drops the queued messages and sends no new ones. Other queued frames stay.</summary>
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

/// <summary>The progress of sending a call.</summary>
internal enum CallSendPhase : byte
{
    /// <summary>The peer does not know the call.</summary>
    New,

    /// <summary>The call's first frame is in the ring.</summary>
    Open,

    /// <summary>Nothing more may be sent: the call has ended or was abandoned.</summary>
    Finished,
}
