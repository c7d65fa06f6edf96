using System.Buffers;
using System.Diagnostics;
using RpcOverShm.Protocol;

namespace RpcOverShm.Sending;

/// <summary>
/// A frame that could not be sent at once, with its own copy of the bytes: it waits in its call's queue for credit, for
/// space, or for its turn. A message is cut into as many records as it needs. Touched under the sender's gate, except
/// for the wait for its end.
/// </summary>
internal sealed class OutboundFrame : IThreadPoolWorkItem
{
    private readonly Lock _gate = new();
    private byte[]? _buffer;
    private TaskCompletionSource<bool>? _finished;
    private bool _isFinished;

    /// <param name="kind">What it is.</param>
    /// <param name="flags">The flags of its last record (of the first for a head).</param>
    /// <param name="buffer">Bytes from the shared pool, which this frame returns; null for none.</param>
    /// <param name="length">How many of them.</param>
    /// <param name="headLength">How many of those are the head.</param>
    public OutboundFrame(FrameKind kind, FrameFlags flags, byte[]? buffer = null, int length = 0, int headLength = 0)
    {
        Debug.Assert(buffer is null || length <= buffer.Length, "The bytes lie in the buffer.");
        Kind = kind;
        Flags = flags;
        Length = length;
        HeadLength = headLength;
        _buffer = buffer;
    }

    public FrameKind Kind { get; }

    public FrameFlags Flags { get; }

    public int Length { get; }

    public int HeadLength { get; }

    /// <summary>How many bytes are in the ring already.</summary>
    public int SentBytes { get; private set; }

    /// <summary>True once a record of it is in the ring.</summary>
    public bool IsStarted { get; private set; }

    /// <summary>True once its last record is in the ring.</summary>
    public bool IsSent => IsStarted && SentBytes == Length;

    /// <summary>The frame behind this one in the call's queue, which is a ring; null outside of one.</summary>
    public OutboundFrame? Next { get; set; }

    public ReadOnlySpan<byte> Rest => _buffer.AsSpan(SentBytes, Length - SentBytes);

    /// <summary>A frame with a copy of these bytes.</summary>
    public static OutboundFrame Copy(
        FrameKind kind, FrameFlags flags, ReadOnlySpan<byte> head, ReadOnlySpan<byte> body)
    {
        int length = head.Length + body.Length;
        byte[] buffer = ArrayPool<byte>.Shared.Rent(Math.Max(length, 1));
        head.CopyTo(buffer);
        body.CopyTo(buffer.AsSpan(head.Length));
        return new OutboundFrame(kind, flags, buffer, length, head.Length);
    }

    public void Advance(int bytes)
    {
        IsStarted = true;
        SentBytes += bytes;
    }

    /// <summary>
    /// The frame was sent or dropped: gives the bytes back to the pool, and wakes on the thread pool who waits.
    /// </summary>
    public void Finish()
    {
        if (FinishQuietly())
        {
            ThreadPool.UnsafeQueueUserWorkItem(this, preferLocal: true);
        }
    }

    /// <summary>The same, but true when somebody waits, whom the caller has to <see cref="WakeWaiter"/>.</summary>
    public bool FinishQuietly()
    {
        if (_buffer is not null)
        {
            ArrayPool<byte>.Shared.Return(_buffer);
            _buffer = null;
        }

        lock (_gate)
        {
            _isFinished = true;
            return _finished is not null;
        }
    }

    /// <summary>Wakes who waits for the end of the frame, on this thread: user code runs in here.</summary>
    public void WakeWaiter() => _finished!.SetResult(IsSent);

    void IThreadPoolWorkItem.Execute() => WakeWaiter();

    /// <summary>
    /// Completes with whether the frame was sent, or dropped. Without the sender's gate; most frames are never waited
    /// for.
    /// </summary>
    public Task<bool> WaitUntilFinishedAsync()
    {
        lock (_gate)
        {
            if (_isFinished)
            {
                return Task.FromResult(IsSent);
            }

            // What continues it runs where it is completed, which is under no lock.
            _finished = new TaskCompletionSource<bool>();
            return _finished.Task;
        }
    }
}
