using System.Diagnostics;
using RpcOverShm.Links;
using RpcOverShm.Protocol;
using RpcOverShm.Rings;
using RpcOverShm.Scheduling;

namespace RpcOverShm.Streams;

/// <summary>
/// The reading half of a byte stream: copies from the ring directly into the caller's buffer, on the caller's thread.
/// The ring is the only buffer, and its space is the back-pressure. The owner allows one read at a time. A dedicated
/// thread, started on first use, waits for the data of asynchronous reads.
/// </summary>
internal sealed class ByteReceiver
{
    private readonly PeerLink _link;
    private readonly RingReader _ring;
    private readonly DataWaiter _waiter;
    private readonly SpinBudget _spin = new();
    private readonly object _gate = new(); // guards the ring: held by a read or by the waiting thread
    private bool _hasRecord;               // the current record has unread bytes
    private int _taken;                    // bytes of the current record already read
    private bool _isEnded;                 // the peer has ended its bytes
    private bool _isLeft;                  // the memory may be unmapped

    public ByteReceiver(PeerLink link)
    {
        _link = link;
        _ring = link.Reader;
        _waiter = new DataWaiter(link, WaitUntilReadable);
    }

    /// <summary>Reads available bytes; blocks until there are some. Returns 0 after the peer's last byte.</summary>
    /// <exception cref="IOException">The peer is gone before its last byte, or violated the protocol.</exception>
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

    /// <summary>Reads available bytes; awaits them if there are none. Returns 0 after the peer's last byte.</summary>
    /// <exception cref="IOException">The peer is gone before its last byte, or violated the protocol.</exception>
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

    /// <summary>Waits for a pending read, then leaves the memory. Called after the link was closed.</summary>
    public void Leave()
    {
        _waiter.Close();
        lock (_gate)
        {
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

    /// <summary>Waits, on the waiting thread, until a read would find something or none is requested.</summary>
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

    /// <summary>Spins, then sleeps, until there may be data. Returns false if a read need not wait.</summary>
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
        long begun = Stopwatch.GetTimestamp();
        if (_ring.Arm() && isRequested() && !_link.SleepForData(position, localEvents))
        {
            _link.OnSafetyTimeout(
                isLostWakeup: _ring.HasData && _link.IsWakeupLost(localEvents, begun, WaitBounds.SafetyTimeout));
        }

        _ring.Disarm();
        return true;
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
        while (!_isEnded
            && !_link.IsClosed
            && _link.TryReadFrame(out FrameHeader frame, out ReadOnlySpan<byte> payload))
        {
            if (frame.Kind is not (FrameKind.Bytes or FrameKind.BytesEnd))
            {
                throw new ProtocolException($"The peer sent {frame.Kind} on a byte stream.");
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
