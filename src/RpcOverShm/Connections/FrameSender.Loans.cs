using System.Diagnostics.CodeAnalysis;
using RpcOverShm.Buffers;
using RpcOverShm.Diagnostics;
using RpcOverShm.Loans;
using RpcOverShm.Protocol;

namespace RpcOverShm.Connections;

/// <content>Messages that end with a piece of shared memory.</content>
internal sealed partial class FrameSender
{
    /// <summary>
    /// Tells the peer what loans and topics have to tell. Any thread may call it, under no lock.
    /// </summary>
    private void SendNews() => SendReady();

    /// <summary>
    /// Puts a reference in the place of a message's piece, if the peer can read that. Otherwise copies the piece, and
    /// returns false.
    /// </summary>
    /// <param name="message">The message; then the record.</param>
    /// <param name="lent">The piece, with a use of it and a loan, both for the record.</param>
    /// <param name="wholeLength">The length of the message.</param>
    private bool TryRefer(PooledBufferWriter message, [NotNullWhen(true)] out LentPiece? lent, out int wholeLength)
    {
        wholeLength = message.Length;
        lent = message.Piece as LentPiece;
        message.Reserve(LoanReference.SizeBytes); // so that nothing fails once it is lent
        if (lent is null
            || message.WrittenSpan.Length + LoanReference.SizeBytes > FrameWriter.MostReferenceBytes
            || _link.Loans?.Lent.TryLend(lent, out LoanReference reference) != true)
        {
            message.CopyPiece();
            ProcessCounts.CopiedPayloads.Add();
            return false;
        }

        message.DetachPiece();
        reference.Encode(message.InsertFirst(LoanReference.SizeBytes));
        return true;
    }

    /// <summary>Sends a record with a reference at once, or queues it and sends what can go.</summary>
    /// <returns>True if it was sent. If it was neither sent nor queued, it was dropped.</returns>
    private bool SendReference(
        ConnectionCall call,
        FrameFlags flags,
        PooledBufferWriter record,
        LentPiece lent,
        int wholeLength,
        out OutboundFrame? queued)
    {
        bool isSent = false;
        queued = null;
        try
        {
            isSent = TrySendReference(call, flags | FrameFlags.Loaned, record, lent, wholeLength, out queued);
        }
        finally
        {
            if (!isSent && queued is null)
            {
                lent.EndFrame(isSent: false);
            }
        }

        if (queued is not null)
        {
            SendReady(call);
        }

        return isSent;
    }

    private bool TrySendReference(
        ConnectionCall call,
        FrameFlags flags,
        PooledBufferWriter record,
        LentPiece lent,
        int wholeLength,
        out OutboundFrame? queued)
    {
        queued = null;
        using SendGate.Scope scope = _gate.Enter();
        if (CannotSendMessages(scope, call))
        {
            return false;
        }

        bool isSent = _queue.TryGoFirst(call)
            && _writer.TryWriteReference(call, flags, record.WrittenSpan, wholeLength);
        if (isSent)
        {
            lent.EndFrame(isSent: true); // before the peer sees the record, which it may return at once
        }
        else
        {
            byte[] buffer = record.Detach(out int length);
            queued = new OutboundFrame(FrameKind.Message, flags, buffer, length)
            {
                WholeLength = wholeLength,
                Lent = lent,
            };
            _queue.Enqueue(call, queued);
        }

        scope.PublishOrDeferOnExit();
        return isSent;
    }
}
