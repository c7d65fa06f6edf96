using RpcOverShm.Diagnostics;
using RpcOverShm.Links;
using RpcOverShm.Protocol;
using RpcOverShm.Rings;
using RpcOverShm.Scheduling;

namespace RpcOverShm.Streams;

/// <summary>
/// The writing half of a byte stream: copies the caller's bytes directly into the ring, on the caller's thread. The
/// owner allows one write at a time. If the ring is full, the event loop completes an asynchronous write.
/// </summary>
internal sealed class ByteSender
{
    // A record and its source fit into the L2 cache together; the peer can read one while the next is written.
    private const int RecordBytes = 32 << 10;

    // What the event loop writes before it looks after its other sources.
    private const int BytesPerRun = 1 << 20;

    // A peer that moves its head by a few bytes at a time gives no space and lets nobody park.
    private const int RoundsPerRun = 8;

    private readonly PeerLink _link;
    private readonly RingWriter _ring;
    private readonly Action _request;
    private readonly SpinBudget _spin = new();

    // Guards the ring: a write holds it for as long as its peer makes room.
    private readonly UninterruptibleLock _lock = new();

    // Whether the event loop has written the rest of a write. If it was told to stop, the waiting write finds out why.
    private TaskCompletionSource<bool> _written = null!;
    private ReadOnlyMemory<byte> _rest;    // of the write that the event loop continues
    private volatile bool _hasRest;
    private bool _isParked;                // the peer rings the event loop when there is space
    private bool _isEnded;
    private bool _isLeft;

    /// <param name="link">The link, which stays the owner's.</param>
    /// <param name="request">Requests the event loop, which then calls <see cref="WriteRest"/>.</param>
    public ByteSender(PeerLink link, Action request)
    {
        _link = link;
        _ring = link.Writer;
        _request = request;
    }

    /// <summary>Whether an asynchronous write waits for space.</summary>
    public bool IsWaiting => _hasRest;

    /// <summary>Whether a waiting write has space. A hint, for the event loop.</summary>
    public bool HasWork => _hasRest && _ring.HasSpaceHint;

    /// <summary>Writes all bytes. Blocks this thread while the ring is full.</summary>
    /// <exception cref="IOException">The peer is gone, has closed, or violated the protocol.</exception>
    public void Write(ReadOnlySpan<byte> bytes)
    {
        while (true)
        {
            uint localEvents = _link.LocalEvents;
            long? head;
            using (_lock.Enter())
            {
                bytes = bytes[WriteNow(bytes, maySpin: true)..];
                if (bytes.IsEmpty)
                {
                    return;
                }

                head = Park(WakeMethods.Futex);
            }

            if (head is { } seen && _link.TryEnter())
            {
                LoopThread.LeaveLoopBeforeSleep();
                _link.SleepForSpace(seen, localEvents);
                _link.Leave();
                Unpark();
            }
        }
    }

    /// <summary>Writes all bytes; awaits space if the ring is full. Uses the memory until the task completes.</summary>
    /// <exception cref="IOException">The peer is gone, has closed, or violated the protocol.</exception>
    public ValueTask WriteAsync(ReadOnlyMemory<byte> bytes, CancellationToken cancellationToken)
    {
        using (_lock.Enter())
        {
            int written = WriteNow(bytes.Span, maySpin: true);
            if (written == bytes.Length)
            {
                return ValueTask.CompletedTask;
            }

            _written = new TaskCompletionSource<bool>(TaskCreationOptions.RunContinuationsAsynchronously);
            _rest = bytes[written..];
            _hasRest = true;
        }

        _request();
        return WaitForRestAsync(cancellationToken);
    }

    /// <summary>
    /// Continues the waiting write, if there is one. If the ring is full, the peer rings when there is space. Returns
    /// true if more can be written at once. Fails the write if the link has closed or the peer is gone. Called by the
    /// event loop, which never waits for a thread that writes.
    /// </summary>
    public bool WriteRest()
    {
        // A thread that has the lock now either leaves no waiting write or requests the loop after it.
        if (!_hasRest || !_lock.TryTake())
        {
            return false;
        }

        try
        {
            if (_isParked && !_isLeft)
            {
                _isParked = false;
                _ring.UnparkForSpace();
            }

            int left = BytesPerRun;
            for (int round = 0; _hasRest && left > 0 && round < RoundsPerRun; round++)
            {
                int written;
                try
                {
                    written = WriteNow(_rest.Span[..Math.Min(_rest.Length, left)], maySpin: false);
                }
                catch (Exception exception)
                {
                    // The memory is the user's, and may throw anything when it is asked for its bytes.
                    if (TakeRest())
                    {
                        _written.SetException(exception);
                    }

                    break;
                }

                _rest = _rest[written..];
                left -= written;
                if (_rest.IsEmpty)
                {
                    CompleteRest(isWritten: true);
                }
                else if (written == 0 && Park(WakeMethods.Doorbell) is not null)
                {
                    _isParked = true;
                    return false;
                }
            }

            return _hasRest;
        }
        finally
        {
            _lock.Exit();
        }
    }

    /// <summary>Tells the peer that no more bytes follow. This fits always, into the control reserve.</summary>
    public void End()
    {
        var wakeMethods = WakeMethods.None;
        using (_lock.Enter())
        {
            try
            {
                if (!_isEnded && !_link.IsClosed && !_isLeft && _ring.TryClaim(0, isControl: true, out RingClaim claim))
                {
                    _ring.Commit(claim, new RecordHeader(0, (byte)FrameKind.BytesEnd, 0, 0, 0, 0));
                    wakeMethods = _ring.Publish();
                }
            }
            catch (RingCorruptedException exception)
            {
                _link.CloseForViolation(exception);
            }

            _isEnded = true;
        }

        WakePeer(wakeMethods);
    }

    /// <summary>
    /// Waits for a pending write, fails one that waits for the event loop, which may not come any more, and leaves the
    /// memory. Called after the link was closed.
    /// </summary>
    public void Leave()
    {
        using (_lock.Enter())
        {
            CompleteRest(isWritten: false);
            _isLeft = true;
        }

        _link.Leave();
    }

    private async ValueTask WaitForRestAsync(CancellationToken cancellationToken)
    {
        bool isWritten;
        try
        {
            using (cancellationToken.UnsafeRegister(static sender => ((ByteSender)sender!).GiveUpRest(), this))
            {
                isWritten = await _written.Task.ConfigureAwait(false);
            }
        }
        finally
        {
            // Without memory for the registration there was no wait, and the loop must leave the caller's bytes alone.
            GiveUpRest();
        }

        if (!isWritten)
        {
            cancellationToken.ThrowIfCancellationRequested();
            throw Broken();
        }
    }

    // Bytes in the ring stay there: as with any stream, a cancelled write may have written a part.
    private void GiveUpRest()
    {
        using (_lock.Enter())
        {
            CompleteRest(isWritten: false);
        }
    }

    // The caller holds the lock. Returns the number of bytes written; fewer than all if the ring is full. Checks the
    // link for each record: a peer may make room for as long as there are bytes, also after its end or this side's.
    private int WriteNow(ReadOnlySpan<byte> bytes, bool maySpin)
    {
        ThrowIfBroken();
        int written = 0;
        var wakeMethods = WakeMethods.None;
        try
        {
            while (written < bytes.Length)
            {
                ThrowIfBroken();
                int length = Math.Min(bytes.Length - written, Math.Min(RecordBytes, _ring.MaxPayloadBytes));
                if (!_ring.TryClaim(length, isControl: false, out RingClaim claim)
                    && !(maySpin && WaitForRoom(length, out claim)))
                {
                    // The ring is the stream's only buffer. So it has its full size before a write must wait.
                    _ring.WantGrowth();
                    break;
                }

                bytes.Slice(written, length).CopyTo(claim.Payload);
                _ring.Commit(claim, new RecordHeader((uint)length, (byte)FrameKind.Bytes, 0, 0, 0, 0));

                // CRASH record-written: see FrameWriter. A stream loses the unpublished bytes.
                CrashPoint.Reach(CrashPoint.RecordWritten);
                wakeMethods |= _ring.Publish();
                written += length;
            }
        }
        catch (RingCorruptedException exception)
        {
            _link.CloseForViolation(exception);
            ThrowIfBroken();
        }
        finally
        {
            // Also if there is no memory to go on: nobody else rings for what is published.
            WakePeer(wakeMethods);
        }

        return written;
    }

    // A peer that keeps up makes room within microseconds; sleeping would cost more.
    private bool WaitForRoom(int length, out RingClaim claim)
    {
        _ = _spin.SpinUntil(new SpaceCondition(_ring, length));
        return _ring.TryClaim(length, isControl: false, out claim);
    }

    // The caller holds the lock. Returns null if there may be room now, or if an invalid head has closed the link.
    private long? Park(WakeMethods wakeMethods)
    {
        long? head = null;
        try
        {
            head = _ring.ParkForSpace(wakeMethods);
        }
        catch (RingCorruptedException exception)
        {
            _link.CloseForViolation(exception);
        }

        if (head is null)
        {
            _ring.UnparkForSpace();
        }

        return head;
    }

    private void Unpark()
    {
        using (_lock.Enter())
        {
            if (!_isLeft)
            {
                _ring.UnparkForSpace();
            }
        }
    }

    // The caller holds the lock. A close of the link also completes the rest, so there may be none.
    private void CompleteRest(bool isWritten)
    {
        if (TakeRest())
        {
            _written.SetResult(isWritten);
        }
    }

    // The caller holds the lock.
    private bool TakeRest()
    {
        bool hadRest = _hasRest;
        _hasRest = false;
        _rest = default;
        return hadRest;
    }

    private void ThrowIfBroken()
    {
        if (_isLeft || _isEnded || _link.IsClosed || _link.IsPeerGone)
        {
            throw Broken();
        }
    }

    private Exception Broken()
    {
        CloseReason? reason = _link.CloseReason;
        return _isLeft || _isEnded || reason is { Kind: CloseKind.Local }
            ? new ObjectDisposedException(nameof(Stream))
            : new IOException(
                reason?.Text ?? $"The stream is broken: the peer, {_link.Identity}, has closed it.",
                reason?.Exception);
    }

    private void WakePeer(WakeMethods wakeMethods)
    {
        if (wakeMethods != WakeMethods.None)
        {
            _link.WakePeerForData(wakeMethods);
        }
    }

    private readonly struct SpaceCondition(RingWriter ring, int length) : ISpinCondition
    {
        public bool IsMet => ring.TryClaim(length, isControl: false, out _);
    }
}
