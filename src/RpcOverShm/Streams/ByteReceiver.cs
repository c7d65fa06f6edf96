using RpcOverShm.Links;
using RpcOverShm.Protocol;
using RpcOverShm.Rings;
using RpcOverShm.Scheduling;

namespace RpcOverShm.Streams;

/// <summary>
/// The reading half of a byte stream: copies from the ring straight into the reader's memory, on the reader's
/// thread. One read at a time; the owner sees to that. A read that waits without a thread of its own has its data
/// waited for by a thread of this connection, started when it is first needed. The ring is the buffer, and its
/// space the back-pressure.
/// </summary>
internal sealed class ByteReceiver
{
    private readonly PeerLink _link;
    private readonly RingReader _ring;
    private readonly DataWaiter _waiter;
    private readonly SpinBudget _spin = new();
    private readonly object _gate = new(); // held by whoever uses the ring: a read, or the waiting thread
    private bool _hasRecord;               // the current record has bytes left
    private int _taken;                    // bytes of it that were read
    private bool _isEnded;                 // the peer writes no more
    private bool _isLeft;                  // the memory may be gone

    public ByteReceiver(PeerLink link)
    {
        _link = link;
        _ring = link.Reader;
        _waiter = new DataWaiter(link, WaitUntilReadable);
    }

    /// <summary>
    /// Reads what is there, after waiting for at least one byte on this thread; 0 when the peer writes no more.
    /// </summary>
    /// <exception cref="IOException">
    /// The peer is gone without having ended its bytes, or broke the protocol.
    /// </exception>
    public int Read(Span<byte> buffer)
    {
        while (true)
        {
            lock (_gate)
            {
                if (TryRead(buffer, out int count))
                {
                    return count;
                }

                WaitOnce(static () => true);
            }
        }
    }

    /// <summary>
    /// Reads what is there, after waiting for at least one byte without a thread; 0 when the peer writes no more.
    /// </summary>
    /// <exception cref="IOException">
    /// The peer is gone without having ended its bytes, or broke the protocol.
    /// </exception>
    public ValueTask<int> ReadAsync(Memory<byte> buffer, CancellationToken cancellationToken)
    {
        lock (_gate)
        {
            if (TryRead(buffer.Span, out int count))
            {
                return new ValueTask<int>(count);
            }
        }

        return ReadLaterAsync(buffer, cancellationToken);
    }

    /// <summary>
    /// Ends the reading side, after the link was closed: waits for a read to leave, and lets go of the memory.
    /// </summary>
    public void Leave()
    {
        _waiter.Close();
        lock (_gate)
        {
            if (_isLeft)
            {
                return;
            }

            _isLeft = true;
        }

        _link.Leave();
    }

    private async ValueTask<int> ReadLaterAsync(Memory<byte> buffer, CancellationToken cancellationToken)
    {
        while (true)
        {
            await _waiter.WaitAsync(cancellationToken).ConfigureAwait(false);
            lock (_gate)
            {
                if (TryRead(buffer.Span, out int count))
                {
                    return count;
                }
            }
        }
    }

    /// <summary>
    /// The waiting thread's step: returns when a read would find something, or nobody wants to know any more.
    /// </summary>
    private void WaitUntilReadable(Func<bool> isRequested)
    {
        while (isRequested())
        {
            lock (_gate)
            {
                if (IsReadable() || !WaitOnce(isRequested))
                {
                    return;
                }
            }
        }
    }

    /// <summary>
    /// Looks for data for a while, then sleeps until there may be some. False when a look would now find something.
    /// </summary>
    private bool WaitOnce(Func<bool> isRequested)
    {
        uint localEvents = _link.LocalEvents;
        if (IsReadable() || _spin.SpinUntil(new DataCondition(_ring, _link)))
        {
            return false;
        }

        if (_ring.PublishHead())
        {
            _link.WakePeerForSpace();
        }

        long position = _ring.Position;
        if (_ring.Arm() && isRequested() && !_link.SleepForData(position, localEvents))
        {
            _link.OnSafetyTimeout(isLostWakeup: _ring.HasData && !_link.WaitForLateWake(localEvents));
        }

        _ring.Disarm();
        return true;
    }

    private bool IsReadable() =>
        _isLeft || _isEnded || _hasRecord || _link.IsClosed || _link.IsPeerGone || _ring.HasData;

    /// <summary>False when there is nothing yet.</summary>
    private bool TryRead(Span<byte> buffer, out int count)
    {
        ThrowIfLocallyClosed();
        bool isPeerGone = _link.IsPeerGone;
        count = CopyAvailable(buffer);
        if (count > 0 || _isEnded || (buffer.IsEmpty && _hasRecord))
        {
            return true;
        }

        if (isPeerGone)
        {
            _link.CloseAfterPeer();
        }

        return _link.CloseReason is { } reason ? throw BrokenBy(reason) : false;
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
            _link.Close(new CloseReason(CloseKind.PeerViolation, exception.Message, exception));
        }

        return count;
    }

    private bool TryNextRecord()
    {
        while (!_isEnded && !_link.IsClosed && _ring.TryRead(out RecordHeader record, out ReadOnlySpan<byte> payload))
        {
            var frame = new FrameHeader(
                (FrameKind)record.Kind,
                (FrameFlags)record.Flags,
                record.HeadLength,
                new CallId(record.StreamId),
                record.Argument,
                payload.Length);
            string? problem = frame.Check()
                ?? (frame.Kind is FrameKind.Bytes or FrameKind.BytesEnd ? null : $"{frame.Kind} on a byte stream");
            if (problem is not null)
            {
                throw new ProtocolException($"The peer sent {problem}.");
            }

            _hasRecord = payload.Length > 0;
            _taken = 0;
            if (_hasRecord)
            {
                return true;
            }

            _isEnded = frame.Kind == FrameKind.BytesEnd;
            _link.IsPeerLeaving |= _isEnded;
            Release();
        }

        return false;
    }

    private void Release()
    {
        _hasRecord = false;
        if (_ring.Release())
        {
            _link.WakePeerForSpace();
        }
    }

    private void ThrowIfLocallyClosed() =>
        ObjectDisposedException.ThrowIf(_isLeft || _link.CloseReason is { Kind: CloseKind.Local }, typeof(Stream));

    private static IOException BrokenBy(CloseReason reason) => new(reason.Text, reason.Exception);

    private readonly struct DataCondition(RingReader ring, PeerLink link) : ISpinCondition
    {
        public bool IsMet => ring.HasData || link.IsClosed;
    }
}
