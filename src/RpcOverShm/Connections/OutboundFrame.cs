using System.Diagnostics;
using RpcOverShm.Buffers;
using RpcOverShm.Diagnostics;
using RpcOverShm.Loans;
using RpcOverShm.Protocol;

namespace RpcOverShm.Connections;

/// <summary>
/// A queued frame that waits for credit, for space or for the frames before it. It owns a copy of its bytes. A message
/// is split into as many records as it needs. Guarded by the gate of the sender, except for waiting until the frame is
/// finished.
/// </summary>
internal sealed class OutboundFrame : IThreadPoolWorkItem
{
    // The memory that a queued frame uses besides its array.
    private const int OverheadBytes = 192;

    private readonly UninterruptibleLock _lock = new();
    private byte[]? _buffer;
    private TaskCompletionSource<bool>? _finished;
    private BufferBudget? _budget; // the budget that is charged for the frame; null for none
    private long _chargedBytes;
    private bool _isFinished;

    /// <summary>
    /// Creates a frame of the first <paramref name="length"/> bytes of a pooled array, which the frame returns to
    /// <see cref="ByteArrays"/>. The head comes first. The flags are the whole frame's; the writer puts each on its
    /// record.
    /// </summary>
    public OutboundFrame(FrameKind kind, FrameFlags flags, byte[]? buffer = null, int length = 0, int headLength = 0)
    {
        Debug.Assert(buffer is null || length <= buffer.Length, "The length does not exceed the buffer.");
        Kind = kind;
        Flags = flags;
        Length = length;
        WholeLength = length;
        HeadLength = headLength;
        _buffer = buffer;
    }

    public FrameKind Kind { get; }

    public FrameFlags Flags { get; }

    public int Length { get; }

    public int HeadLength { get; }

    /// <summary>The length of the message: more than that of the frame if the frame refers to a part of it.</summary>
    public int WholeLength { get; init; }

    /// <summary>The piece that the frame refers to, with a use of it and a loan; null for none.</summary>
    public LentPiece? Lent { get; init; }

    /// <summary>The number of bytes that are in the ring already.</summary>
    public int SentBytes { get; private set; }

    /// <summary>Whether a record of the frame is in the ring.</summary>
    public bool IsStarted { get; private set; }

    /// <summary>Whether the last record of the frame is in the ring.</summary>
    public bool IsSent => IsStarted && SentBytes == Length;

    /// <summary>The next frame in the call's circular queue; null if the frame is not queued.</summary>
    public OutboundFrame? Next { get; set; }

    public ReadOnlySpan<byte> Rest => _buffer.AsSpan(SentBytes, Length - SentBytes);

    /// <summary>Creates a frame with a copy of these bytes.</summary>
    public static OutboundFrame Copy(
        FrameKind kind, FrameFlags flags, ReadOnlySpan<byte> head, ReadOnlySpan<byte> body)
    {
        int length = head.Length + body.Length;
        byte[] buffer = ByteArrays.Rent(Math.Max(length, 1));
        head.CopyTo(buffer);
        body.CopyTo(buffer.AsSpan(head.Length));
        return new OutboundFrame(kind, flags, buffer, length, head.Length);
    }

    /// <summary>
    /// Charges the budget for the frame, and for the bytes that its call keeps for it, until the frame is finished.
    /// Called once, by the queue.
    /// </summary>
    public void Charge(BufferBudget? budget, long callBytes)
    {
        _budget = budget;
        _chargedBytes = OverheadBytes + (_buffer?.Length ?? 0) + callBytes;
        budget?.TakeUnsent(_chargedBytes);
    }

    public void Advance(int bytes)
    {
        IsStarted = true;
        SentBytes += bytes;
    }

    /// <summary>Returns the bytes to the pool and wakes the waiter, if any, on the thread pool.</summary>
    public void Finish()
    {
        if (FinishWithoutWake())
        {
            PoolWork.Queue(this, preferLocal: true);
        }
    }

    /// <summary>As <see cref="Finish"/>, without a wake-up. On true, <see cref="WakeWaiter"/> must be called.</summary>
    public bool FinishWithoutWake()
    {
        _budget?.GiveUnsent(_chargedBytes);
        _budget = null;
        if (_buffer is not null)
        {
            ByteArrays.Return(_buffer);
            _buffer = null;
            Lent?.EndFrame(IsSent);
        }

        using (_lock.Enter())
        {
            _isFinished = true;
            return _finished is not null;
        }
    }

    /// <summary>
    /// Wakes the waiter. The continuation of the waiter is user code and runs on this thread, before this method
    /// returns.
    /// </summary>
    public void WakeWaiter() => _finished!.SetResult(IsSent);

    void IThreadPoolWorkItem.Execute() => WakeWaiter();

    /// <summary>
    /// Returns a task that completes with true if the frame was sent, false if it was dropped. Does not need the
    /// sender's gate. The task source is created on demand, because most frames have no waiter.
    /// </summary>
    public Task<bool> WaitUntilFinishedAsync()
    {
        using (_lock.Enter())
        {
            if (_isFinished)
            {
                return Task.FromResult(IsSent);
            }

            // Continuations run inside WakeWaiter, which is called under no lock.
            _finished = new TaskCompletionSource<bool>();
            return _finished.Task;
        }
    }
}
