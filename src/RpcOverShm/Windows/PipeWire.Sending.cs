using System.Runtime.InteropServices;
using RpcOverShm.Diagnostics;
using RpcOverShm.Systems;

namespace RpcOverShm.Windows;

/// <summary>The sending side of the wire: the message of the handshake, a refusal, and doorbells.</summary>
internal sealed partial class PipeWire
{
    // An event for which nobody waits. Its lowest bit keeps the packets of writes away from the port.
    private static readonly KernelHandle s_unheard = KernelHandle.CreateEvent(isManual: true);

    private readonly UninterruptibleLock _sendLock = new();
    private readonly PipeOperation _ring = new(bufferBytes: 1);
    private readonly List<KernelHandle> _offered = []; // until the server has taken its own
    private bool _hasSent;

    private static nint Unheard => s_unheard.DangerousGetHandle() | 1;

    public override void Send(ReadOnlySpan<byte> message, IReadOnlyList<SafeHandle> handles)
    {
        using (_sendLock.Enter())
        {
            ThrowIfShutDown();
            using var operation = new PipeOperation(HandOver.MostBytes + message.Length);
            Span<long> values = stackalloc long[handles.Count];
            int prefix = _hasSent ? 0 : WriteHandles(handles, values, operation.Buffer);
            _hasSent = true;
            message.CopyTo(operation.Buffer[prefix..]);
            try
            {
                Write(operation, prefix + message.Length);
            }
            catch when (_isServer && prefix > 0 && !operation.IsPending && operation.Bytes == 0)
            {
                // The client has none of the values.
                Other.TakeBack(values);
                throw;
            }
        }
    }

    public override string? Ring(byte doorbell)
    {
        using (_sendLock.Enter())
        {
            if (_isShutDown || _isDisposed || _ring.IsPending)
            {
                return null;
            }

            try
            {
                _ring.Buffer[0] = doorbell;
                int error = _ring.Write(_pipe, 1, Unheard);

                // If it waits for room in the pipe, the peer has many that it has not read. It does not wait on: the
                // system would end it with this thread.
                _ = _ring.TryEnd(_pipe);
                return WindowsNative.IsShortage(error) ? WindowsNative.ErrorText(error) : null;
            }
            catch (ObjectDisposedException)
            {
                return null; // This side has closed the wire.
            }
        }
    }

    private int WriteHandles(IReadOnlyList<SafeHandle> handles, Span<long> values, Span<byte> prefix)
    {
        if (_isServer)
        {
            Other.Push(handles, values);
        }
        else
        {
            Offer(handles, values);
        }

        return HandOver.Write(values, prefix);
    }

    // The server takes the handles later, and the caller may have closed its own by then.
    private void Offer(IReadOnlyList<SafeHandle> handles, Span<long> values)
    {
        for (int i = 0; i < handles.Count; i++)
        {
            values[i] = PipePeer.Duplicate(handles[i], KernelHandle.OwnProcess);
            _offered.Add(new KernelHandle((nint)values[i]));
        }
    }

    private void WithdrawOffer()
    {
        _offered.ForEach(static handle => handle.Dispose());
    }

    private void Write(PipeOperation operation, int count)
    {
        int error = operation.Write(_pipe, count, Unheard);
        if (error == 0)
        {
            // It has ended already, unless the peer does not read.
            error = operation.TryEnd(_pipe) ? operation.Error : WindowsNative.ErrorOperationAborted;
        }

        if (error == WindowsNative.ErrorOperationAborted)
        {
            throw new IOException("The peer does not read its pipe.", error);
        }

        if (WindowsNative.IsShortage(error))
        {
            throw new SegmentException($"Cannot write to the pipe: {WindowsNative.ErrorText(error)}.")
            {
                IsShortage = true,
            };
        }

        if (error != 0)
        {
            throw new IOException($"Cannot write to the pipe: {WindowsNative.ErrorText(error)}.", error);
        }
    }
}
