using System.Runtime.InteropServices;
using RpcOverShm.Diagnostics;
using RpcOverShm.Protocol;
using RpcOverShm.Systems;

namespace RpcOverShm.Windows;

/// <summary>The receiving side of the wire, and what its polls need of it.</summary>
internal sealed unsafe partial class PipeWire
{
    private const int BufferBytes = 512;

    // No honest peer writes nothing. Each such write ends a read.
    private const int MostEmptyReads = 1000;

    private readonly UninterruptibleLock _lock = new(); // guards all that is here; entered after that of sending
    private readonly HandOver _received = new();
    private PipeOperation _read = new(BufferBytes);
    private bool _isReading;  // its result was not taken yet
    private int _start;       // of the bytes that were read and not received
    private int _end;
    private bool _areHandlesTaken; // those before the first message
    private int _error;       // with which the last read failed; there is no other
    private int _emptyReads;
    private bool _isTold;     // a poll has told of what is here
    private KernelHandle? _watch; // of a poll without a port
    private nuint? _portKey;  // at the port to which the pipe is bound, for ever

    public override bool IsAtEnd
    {
        get
        {
            using (_lock.Enter())
            {
                // The end of a read at a port may show only when a thread has taken its packet.
                bool hasEnded = !HasSomething(orLook: true) && _isReading && Look(out _) < 0;
                TakeResult();
                return (hasEnded || _error != 0) && _start == _end;
            }
        }
    }

    public override int Receive(Span<byte> buffer, List<SafeHandle> handles)
    {
        using (_lock.Enter())
        {
            ThrowIfShutDown();
            do
            {
                TakeResult();
                if (TakeBytes(buffer, handles) is > 0 and int count)
                {
                    return count;
                }

                if (_error != 0)
                {
                    return IsEnd(_error)
                        ? 0
                        : throw new IOException($"Cannot read the pipe: {WindowsNative.ErrorText(_error)}.", _error);
                }
            }
            while (!_isReading && TryFill());

            if (_isTold)
            {
                // A poll without a port begins the next read, on its own thread.
                _isTold = false;
                _ = _watch is null ? 0 : WindowsNative.SetEvent(_watch);
            }

            return -1;
        }
    }

    public override bool IsReadable(int timeoutMilliseconds)
    {
        using (_lock.Enter())
        {
            if (HasSomething(orLook: true))
            {
                return true;
            }

            if (timeoutMilliseconds == 0 || _isReading || _portKey is not null)
            {
                return false;
            }
        }

        using KernelHandle completion = KernelHandle.CreateEvent();
        using (_lock.Enter())
        {
            BeginRead(completion.DangerousGetHandle());
        }

        // Not under the lock, so that another thread can end it.
        _ = WindowsNative.WaitForSingleObject(completion, (uint)timeoutMilliseconds);
        EndRead();
        using (_lock.Enter())
        {
            return HasSomething(orLook: false);
        }
    }

    /// <summary>
    /// Binds the pipe to a port, for ever. Returns null on success, with the key of its packets, else the reason.
    /// </summary>
    public string? Bind(KernelHandle port, ref nuint key)
    {
        using (_lock.Enter())
        {
            ThrowIfShutDown();
            if (_portKey is { } known)
            {
                key = known;
                return null;
            }

            if (WindowsNative.CreateIoCompletionPort(_pipe, port, key, 0) == 0)
            {
                return WindowsNative.LastErrorText();
            }

            _portKey = key;
            return null;
        }
    }

    /// <summary>
    /// Begins a read, unless one is in progress or bytes are left. Returns whether there is something that was not told
    /// since a receive has found nothing.
    /// </summary>
    /// <param name="completion">The event that tells the end of the read; 0 for a packet at the port.</param>
    /// <param name="hasEnded">Whether it is the end.</param>
    public bool TryTell(nint completion, out bool hasEnded)
    {
        hasEnded = false;
        using (_lock.Enter())
        {
            if (_isShutDown)
            {
                return false;
            }

            if (!HasSomething(orLook: false) && !_isReading)
            {
                BeginRead(completion);
                TakeResult();
                if (completion != 0)
                {
                    // The system resets the event when an operation begins: it may have told of another one.
                    _ = WindowsNative.SetEvent(completion);
                }
            }

            if (_isTold || !HasSomething(orLook: false))
            {
                return false;
            }

            _isTold = true;
            hasEnded = _error != 0;
            return true;
        }
    }

    /// <summary>Forgets what was told, for another poll.</summary>
    /// <param name="watch">The event of a poll without a port, which is set when a receive finds nothing.</param>
    public void BeginWatch(KernelHandle? watch)
    {
        using (_lock.Enter())
        {
            _isTold = false;
            _watch = watch;
        }
    }

    /// <summary>Ends the watch of a poll without a port, with its read. What that has read by then stays.</summary>
    public void EndWatch()
    {
        using (_lock.Enter())
        {
            _watch = null;
            EndRead();
        }
    }

    /// <summary>Ends the read that is in progress without a port.</summary>
    private void EndRead()
    {
        using (_lock.Enter())
        {
            if (!_isReading || _isDisposed)
            {
                return;
            }

            if (_read.TryEnd(_pipe))
            {
                TakeResult();
            }
            else
            {
                GiveUpRead().Dispose();
            }
        }
    }

    /// <summary>
    /// Cancels the read that is in progress at a port, before the wire is closed. Returns its operation, which ends
    /// with its packet, perhaps not before; null if none is in progress.
    /// </summary>
    public PipeOperation? CancelRead()
    {
        using (_lock.Enter())
        {
            TakeResult();
            if (_isReading && !_isDisposed)
            {
                _read.Cancel(_pipe);
                return GiveUpRead();
            }

            // None begins from here on, whose packet nobody would know.
            _error = _error != 0 ? _error : WindowsNative.ErrorPipeNotConnected;
            return null;
        }
    }

    /// <summary>
    /// Closes the handles of an answer that was not received: the server has made them in this process, for this wire.
    /// </summary>
    private void CloseUnread()
    {
        List<SafeHandle> unread = [];
        using (_lock.Enter())
        {
            if (_areHandlesTaken || _isShutDown)
            {
                return;
            }

            try
            {
                EndRead();
                _ = Receive(stackalloc byte[1], unread);
            }
            catch (Exception exception) when (exception
                is IOException or SegmentException or ProtocolException or ObjectDisposedException)
            {
                // What came is no answer.
            }
        }

        unread.ForEach(static handle => handle.Dispose());
    }

    private static bool IsEnd(int error) => error is WindowsNative.ErrorBrokenPipe
        or WindowsNative.ErrorPipeNotConnected or WindowsNative.ErrorNoData or WindowsNative.ErrorHandleEof;

    private void ThrowIfShutDown() => ObjectDisposedException.ThrowIf(_isShutDown, this);

    private bool HasSomething(bool orLook)
    {
        if (orLook)
        {
            ThrowIfShutDown();
        }

        TakeResult();
        return _start < _end || _error != 0 || (orLook && !_isReading && Look(out _error) != 0);
    }

    /// <summary>Returns the number of bytes in the pipe, -1 at its end.</summary>
    private int Look(out int error)
    {
        uint available;
        bool isOpen = WindowsNative.PeekNamedPipe(_pipe, null, 0, null, &available, null) != 0;
        error = isOpen ? 0 : Marshal.GetLastPInvokeError();
        return isOpen ? (int)available : -1;
    }

    // Its memory is the system's now, and the wire is of no more use.
    private PipeOperation GiveUpRead()
    {
        PipeOperation given = _read;
        _read = new PipeOperation(BufferBytes);
        _isReading = false;
        _error = WindowsNative.ErrorPipeNotConnected;
        return given;
    }

    private void TakeResult()
    {
        if (!_isReading || _read.IsPending)
        {
            return;
        }

        _isReading = false;
        int error = _read.Error;
        if (error == WindowsNative.ErrorOperationAborted && !_isShutDown)
        {
            return; // It was cancelled, here or by the end of the thread that began it.
        }

        (_start, _end) = (0, error == 0 ? _read.Bytes : 0);
        _emptyReads = error == 0 && _end == 0 ? _emptyReads + 1 : 0;
        _error = error != 0 ? error : _emptyReads > MostEmptyReads ? WindowsNative.ErrorOperationAborted : 0;
    }

    /// <summary>Reads what is there. Returns whether there may be something now.</summary>
    private bool TryFill()
    {
        ThrowIfShutDown();
        if (_portKey is not null)
        {
            // Its packet comes also if it ends at once.
            BeginRead(completion: 0);
            return _error != 0;
        }

        int count = Look(out _error);
        if (count > 0)
        {
            // What is there is read at once. If nevertheless not, nobody would hear of its end.
            BeginRead(completion: 0);
            EndRead();
        }

        return count != 0;
    }

    private void BeginRead(nint completion)
    {
        if (_isDisposed)
        {
            return;
        }

        try
        {
            _error = _read.Read(_pipe, BufferBytes, completion);
        }
        catch (ObjectDisposedException)
        {
            _error = WindowsNative.ErrorPipeNotConnected;
        }

        _isReading = _error == 0;
    }

    private int TakeBytes(Span<byte> buffer, List<SafeHandle> handles)
    {
        if (!_received.IsComplete)
        {
            _start += _received.Take(_read.Buffer[_start.._end]);
            if (!_received.IsComplete || _start == _end)
            {
                return 0;
            }
        }

        TakeHandles(handles);
        int count = Math.Min(buffer.Length, _end - _start);
        _read.Buffer.Slice(_start, count).CopyTo(buffer);
        _start += count;
        return count;
    }

    private void TakeHandles(List<SafeHandle> handles)
    {
        if (_areHandlesTaken)
        {
            return;
        }

        // The peer has read this side's message before it has sent its own, or has refused it.
        _areHandlesTaken = true;
        WithdrawOffer();
        if (_isServer)
        {
            Other.CheckByImpersonation(_pipe);
        }

        _received.Accept(_isServer ? Other : null, handles);
    }
}
