using System.Diagnostics;
using RpcOverShm.Diagnostics;
using RpcOverShm.Links;
using RpcOverShm.Protocol;
using RpcOverShm.Rings;
using RpcOverShm.Scheduling;

namespace RpcOverShm.Streams;

/// <summary>
/// The reading half of a byte stream: copies from the ring directly into the caller's buffer, on the caller's thread.
/// The ring is the only buffer, and its space is the back-pressure. The owner allows one read at a time. The event loop
/// waits for the data of asynchronous reads.
/// </summary>
internal sealed class ByteReceiver
{
    private readonly PeerLink _link;
    private readonly RingReader _ring;
    private readonly Action _request;
    private readonly SpinBudget _spin = new();
    private readonly UninterruptibleLock _lock = new(); // guards the ring: held by a read, also while it blocks
    private readonly UninterruptibleLock _waitLock = new(); // guards the end of a wait: a read may hold the other long
    private volatile TaskCompletionSource? _wait; // of an asynchronous read; completed when there may be data
    private bool _hasRecord;               // the current record has unread bytes
    private int _taken;                    // bytes of the current record already read
    private bool _isEnded;                 // the peer has ended its bytes
    private bool _isLeft;                  // the memory may be unmapped

    /// <param name="link">The link, which stays the owner's.</param>
    /// <param name="request">Requests the event loop, which then runs the members that are for it.</param>
    public ByteReceiver(PeerLink link, Action request)
    {
        _link = link;
        _ring = link.Reader;
        _request = request;
    }

    /// <summary>Whether a waiting read would find something. For the event loop.</summary>
    public bool HasWork => _wait is not null && IsReadable();

    /// <summary>Whether this side is armed for the event loop and has data. For the event loop.</summary>
    public bool HasMissedDoorbell =>
        _wait is not null && (_ring.ArmedFor & WakeMethods.Doorbell) != 0 && _ring.HasData && !_link.IsClosed;

    /// <summary>Reads available bytes; blocks until there are some. Returns 0 after the peer's last byte.</summary>
    /// <exception cref="IOException">The peer is gone before its last byte, or violated the protocol.</exception>
    public int Read(Span<byte> buffer)
    {
        while (true)
        {
            using (_lock.Enter())
            {
                if (TryRead(buffer, out int count))
                {
                    return count;
                }

                WaitOnce();
            }
        }
    }

    /// <summary>Reads available bytes; awaits them if there are none. Returns 0 after the peer's last byte.</summary>
    /// <exception cref="IOException">The peer is gone before its last byte, or violated the protocol.</exception>
    public async ValueTask<int> ReadAsync(Memory<byte> buffer, CancellationToken cancellationToken)
    {
        while (true)
        {
            TaskCompletionSource wait;
            using (_lock.Enter())
            {
                if (TryRead(buffer.Span, out int count))
                {
                    return count;
                }

                wait = new TaskCompletionSource(TaskCreationOptions.RunContinuationsAsynchronously);
                _wait = wait;
            }

            _request();
            using (cancellationToken.UnsafeRegister(static receiver => ((ByteReceiver)receiver!).EndWait(), this))
            {
                await wait.Task.ConfigureAwait(false);
            }

            // Here and not by the canceller, which may have no memory for the exception.
            cancellationToken.ThrowIfCancellationRequested();
        }
    }

    /// <summary>Waits for a pending read, then leaves the memory. Called after the link was closed.</summary>
    public void Leave()
    {
        using (_lock.Enter())
        {
            _isLeft = true;
        }

        // No other read begins to wait, because it begins under the lock.
        EndWait();
        _link.Leave();
    }

    /// <summary>Completes a waiting read that would find something. Called by the event loop.</summary>
    public void CompleteIfReadable()
    {
        if (HasWork)
        {
            EndWait();
        }
    }

    /// <summary>
    /// Has the peer ring the event loop for a waiting read. Returns false if there is something to read. Called by the
    /// event loop.
    /// </summary>
    public bool TryPark()
    {
        // While a read waits here, none blocks with the lock; one that has just been cancelled may be followed by one.
        if (_wait is null || !_lock.TryTake())
        {
            return true;
        }

        try
        {
            return _isLeft || (!IsReadable() && TryArm(WakeMethods.Doorbell));
        }
        finally
        {
            _lock.Exit();
        }
    }

    // The loop, a canceller and the end of the stream may come at the same time.
    private void EndWait()
    {
        using (_waitLock.Enter())
        {
            // The read may wait again as soon as it has the result.
            TaskCompletionSource? wait = _wait;
            _wait = null;
            wait?.SetResult();
        }
    }

    /// <summary>Spins, then sleeps, until there may be data. The caller holds the lock.</summary>
    private void WaitOnce()
    {
        uint localEvents = _link.LocalEvents;
        if (IsReadable() || _spin.SpinUntil(new DataCondition(_ring, _link)))
        {
            return;
        }

        long begun = Stopwatch.GetTimestamp();
        if (TryArm(WakeMethods.Futex))
        {
            LoopThread.LeaveLoopBeforeSleep();
            if (!_link.SleepForData(_ring.Position, localEvents))
            {
                _link.OnSafetyTimeout(
                    isLostWakeup: _ring.HasData && _link.IsWakeupLost(localEvents, begun));
            }
        }
    }

    private bool TryArm(WakeMethods wakeMethods)
    {
        WakeMethods forSpace = _ring.PublishHead();
        if (forSpace != WakeMethods.None)
        {
            _link.WakePeerForSpace(forSpace);
        }

        return _ring.Arm(wakeMethods);
    }

    private bool IsReadable() =>
        _isLeft || _isEnded || _hasRecord || _link.IsClosed || _link.IsPeerGone || _ring.HasData;

    /// <summary>Returns false if there is nothing to read yet.</summary>
    private bool TryRead(Span<byte> buffer, out int count)
    {
        if (_isLeft || _link.CloseReason is { Kind: CloseKind.Local })
        {
            throw Broken();
        }

        _ring.Disarm();
        bool isPeerGone = _link.SealIfPeerGone();
        count = CopyAvailable(buffer);
        if (count > 0 || _isEnded || (buffer.IsEmpty && _hasRecord))
        {
            return true;
        }

        if (isPeerGone)
        {
            _link.CloseAfterPeer();
        }

        return _link.IsClosed ? throw Broken() : false;
    }

    private int CopyAvailable(Span<byte> buffer)
    {
        int count = 0;
        try
        {
            while ((_hasRecord || TryNextRecord()) && !buffer.IsEmpty)
            {
                ReadOnlySpan<byte> rest = _ring.Current[_taken..];
                int length = Math.Min(rest.Length, buffer.Length);
                rest[..length].CopyTo(buffer);
                buffer = buffer[length..];
                count += length;
                _taken += length;
                if (length == rest.Length)
                {
                    Release();
                }
            }
        }
        catch (Exception exception) when (exception is ProtocolException or RingCorruptedException)
        {
            _link.CloseForViolation(exception);
        }

        return count;
    }

    private bool TryNextRecord()
    {
        if (_isEnded || _link.IsClosed || !_link.TryReadFrame(out FrameHeader frame, out ReadOnlySpan<byte> payload))
        {
            return false;
        }

        if (frame.Kind == FrameKind.BytesEnd)
        {
            _isEnded = true;
            _link.IsPeerLeaving = true;
            Release();
            return false;
        }

        // Empty ones would keep this read busy for as long as they come.
        if (frame.Kind != FrameKind.Bytes || payload.IsEmpty)
        {
            throw new ProtocolException(frame.Kind == FrameKind.Bytes
                ? "The peer sent Bytes without any byte."
                : $"The peer sent {frame.Kind} on a byte stream.");
        }

        _hasRecord = true;
        _taken = 0;
        return true;
    }

    private void Release()
    {
        _hasRecord = false;
        WakeMethods wakeMethods = _ring.Release();
        if (wakeMethods != WakeMethods.None)
        {
            _link.WakePeerForSpace(wakeMethods);
        }
    }

    // The caller has seen that the link is closed, or left; this side's own close may have come since its last look.
    private Exception Broken()
    {
        CloseReason reason = _link.CloseReason!;
        return _isLeft || reason.Kind == CloseKind.Local
            ? new ObjectDisposedException(nameof(Stream))
            : new IOException(reason.Text, reason.Exception);
    }

    private readonly struct DataCondition(RingReader ring, PeerLink link) : ISpinCondition
    {
        public bool IsMet => ring.HasData || link.IsClosed;
    }
}
