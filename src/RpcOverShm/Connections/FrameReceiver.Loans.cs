using RpcOverShm.Buffers;
using RpcOverShm.Loans;
using RpcOverShm.Protocol;

namespace RpcOverShm.Connections;

/// <content>Messages that lie in memory of the peer, and what the peer tells about memory of this side.</content>
internal sealed partial class FrameReceiver
{
    /// <summary>Takes the frame of a connection that is no GoAway.</summary>
    /// <exception cref="ProtocolException">It is not allowed.</exception>
    private void ReceiveNews(in FrameHeader frame, ReadOnlySpan<byte> payload)
    {
        if (IsOfTopic(frame))
        {
            ReceiveTopicNews(frame);
            return;
        }

        if (_link.Loans is not { Lent: { } lent } loans)
        {
            throw new ProtocolException(frame.Kind is FrameKind.Bytes or FrameKind.BytesEnd
                ? $"The peer sent {frame.Kind} on a connection for calls."
                : $"The peer sent {frame.Kind} on a connection without loans.");
        }

        switch (frame.Kind)
        {
            case FrameKind.FileMapped:
            case FrameKind.FileRefused:
                lent.OnAnswer(frame.Argument, frame.Kind == FrameKind.FileMapped);
                break;
            case FrameKind.Returned:
                TakeBack(lent, payload);
                break;
            case FrameKind.ReturnsWanted:
                loans.Borrowed.OnWanted();
                break;
            default:
                throw new ProtocolException($"The peer sent {frame.Kind} on a connection for calls.");
        }
    }

    // Copied, because the peer could change it meanwhile; in parts, because it may have as many bytes as a record.
    private static void TakeBack(LoanPool lent, ReadOnlySpan<byte> entries)
    {
        Span<byte> copy = stackalloc byte[FrameWriter.ReturnedBytes];
        do
        {
            int length = Math.Min(entries.Length, copy.Length);
            entries[..length].CopyTo(copy);
            lent.TakeBack(copy[..length]);
            entries = entries[length..];
        }
        while (!entries.IsEmpty);
    }

    /// <summary>Returns the message of a frame that refers to it. The caller releases it.</summary>
    /// <exception cref="ProtocolException">The reference is not allowed.</exception>
    private ReceivedMessage Borrow(in FrameHeader frame, ReadOnlySpan<byte> payload)
    {
        if (_link.Loans is not { } loans)
        {
            throw new ProtocolException("The peer sent a reference on a connection without loans.");
        }

        // Copied, because the peer could change it between its check and its use.
        Span<byte> copy = stackalloc byte[LoanReference.SizeBytes];
        int length = Math.Min(payload.Length, copy.Length);
        payload[..length].CopyTo(copy);
        var reference = LoanReference.Decode(copy[..length]);
        payload = payload[LoanReference.SizeBytes..];
        if (payload.Length + reference.Length != frame.Argument)
        {
            throw new ProtocolException(
                $"The peer sent {payload.Length} bytes and a reference to {reference.Length} bytes, "
                + $"for a message of {frame.Argument}.");
        }

        return ReceivedMessage.OfPiece(payload, loans.Borrowed.Borrow(reference));
    }
}
