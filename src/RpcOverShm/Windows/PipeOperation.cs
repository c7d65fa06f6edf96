using System.Diagnostics;
using System.Runtime.InteropServices;

namespace RpcOverShm.Windows;

/// <summary>
/// The memory of one operation at a time on a pipe: its state and its bytes. The system writes both until the operation
/// has ended, wherever the handle is by then. Its owner sees to it that one thread at a time uses it.
/// </summary>
internal sealed unsafe class PipeOperation : IDisposable
{
    // A cancelled operation ends in some microseconds. This bound is for a machine without time for it.
    private static readonly TimeSpan s_longestEnd = TimeSpan.FromSeconds(1);

    private readonly int _bufferBytes;
    private WindowsNative.Overlapped* _overlapped; // the buffer is behind it

    public PipeOperation(int bufferBytes)
    {
        _bufferBytes = bufferBytes;
        _overlapped = (WindowsNative.Overlapped*)NativeMemory.AllocZeroed(
            (nuint)(sizeof(WindowsNative.Overlapped) + bufferBytes));
    }

    /// <summary>The address by which a packet names the operation.</summary>
    public nint Address => (nint)_overlapped;

    public Span<byte> Buffer => new(BufferAddress, _bufferBytes);

    /// <summary>Whether the operation is in progress.</summary>
    public bool IsPending => Volatile.Read(ref _overlapped->Status) == WindowsNative.StatusPending;

    /// <summary>The error with which the operation has ended; 0 for success.</summary>
    public int Error => WindowsNative.RtlNtStatusToDosError(unchecked((int)_overlapped->Status));

    /// <summary>The bytes that the operation has moved.</summary>
    public int Bytes => (int)_overlapped->Bytes;

    private byte* BufferAddress => (byte*)(_overlapped + 1);

    /// <summary>
    /// Begins to read. Returns 0 if the read is in progress, or has ended already; else the error, and then there is no
    /// packet.
    /// </summary>
    /// <param name="pipe">The pipe.</param>
    /// <param name="count">The most bytes.</param>
    /// <param name="completion">
    /// The event that is set at its end; 0 for none. With its lowest bit set, no packet comes to a port.
    /// </param>
    /// <exception cref="ObjectDisposedException">The pipe is closed.</exception>
    public int Read(SafeHandle pipe, int count, nint completion)
    {
        Prepare(completion);
        return Begun(WindowsNative.ReadFile(pipe, BufferAddress, (uint)count, null, _overlapped));
    }

    /// <summary>Begins to write the first bytes of the buffer, in the same way.</summary>
    /// <exception cref="ObjectDisposedException">The pipe is closed.</exception>
    public int Write(SafeHandle pipe, int count, nint completion)
    {
        Prepare(completion);
        return Begun(WindowsNative.WriteFile(pipe, BufferAddress, (uint)count, null, _overlapped));
    }

    /// <summary>Begins to wait for a client, in the same way.</summary>
    /// <exception cref="ObjectDisposedException">The pipe is closed.</exception>
    public int Connect(SafeHandle pipe, nint completion)
    {
        Prepare(completion);
        return Begun(WindowsNative.ConnectNamedPipe(pipe, _overlapped));
    }

    /// <summary>Cancels the operation. It ends soon.</summary>
    public void Cancel(SafeHandle pipe)
    {
        try
        {
            _ = WindowsNative.CancelIoEx(pipe, _overlapped);
        }
        catch (ObjectDisposedException)
        {
            // The close of the handle has cancelled it.
        }
    }

    /// <summary>
    /// Cancels the operation, unless it has ended, and waits for its end. Returns false if it does not end. Not for an
    /// operation with a packet: that may end only when a thread takes the packet.
    /// </summary>
    public bool TryEnd(SafeHandle pipe)
    {
        if (!IsPending)
        {
            return true;
        }

        Cancel(pipe);
        long begun = Stopwatch.GetTimestamp();
        for (SpinWait spin = default; IsPending; spin.SpinOnce())
        {
            if (Stopwatch.GetElapsedTime(begun) > s_longestEnd)
            {
                return false;
            }
        }

        return true;
    }

    /// <summary>
    /// Frees the memory. That of an operation that has not ended is left to the system on purpose, because it would
    /// write into what somebody else has by then.
    /// </summary>
    public void Dispose()
    {
        if (_overlapped is not null && !IsPending)
        {
            NativeMemory.Free(_overlapped);
        }

        _overlapped = null;
    }

    private void Prepare(nint completion) => *_overlapped = new WindowsNative.Overlapped { Event = completion };

    private int Begun(int result)
    {
        int error = result != 0 ? 0 : Marshal.GetLastPInvokeError();
        if (error is 0 or WindowsNative.ErrorIoPending)
        {
            return 0;
        }

        // A call that fails leaves its operation as if it were in progress.
        _overlapped->Status = 0;
        return error;
    }
}
