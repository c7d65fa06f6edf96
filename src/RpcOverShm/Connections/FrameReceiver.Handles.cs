using System.Buffers.Binary;
using RpcOverShm.Links;
using RpcOverShm.Protocol;

namespace RpcOverShm.Connections;

/// <content>Handles of calls, which a frame names.</content>
internal sealed partial class FrameReceiver
{
    /// <summary>Takes a frame of a call that is not known any more, with what it holds.</summary>
    /// <exception cref="ProtocolException">It is not allowed.</exception>
    private void DropLate(in FrameHeader frame, ReadOnlySpan<byte> payload)
    {
        if ((frame.Flags & FrameFlags.Loaned) != 0)
        {
            Borrow(frame, payload).Release();
        }
        else if (frame.Kind == FrameKind.Handles)
        {
            NameHandles(payload)?.Close();
        }
    }

    /// <summary>Returns the handles that a frame names; null if they were closed before.</summary>
    /// <exception cref="ProtocolException">It is not allowed.</exception>
    private HandleSet? NameHandles(ReadOnlySpan<byte> payload)
    {
        if (_link.Handles is not { } handles)
        {
            throw new ProtocolException("The peer sent Handles on a connection without handles.");
        }

        return payload.Length == sizeof(long)
            ? handles.Name(BinaryPrimitives.ReadInt64LittleEndian(CopyHead(payload)))
            : throw new ProtocolException($"The peer sent Handles with {payload.Length} bytes; 8 are right.");
    }
}
