using RpcOverShm.Buffers;
using RpcOverShm.Loans;
using RpcOverShm.Protocol;

namespace RpcOverShm.Connections;

/// <content>
/// Messages, sent complete or in parts while they are serialised. Never waits: bytes that lack credit or space, or that
/// are behind other calls, are queued or left to the caller.
/// </content>
internal sealed partial class FrameSender
{
    private static readonly Task<bool> s_sent = Task.FromResult(true);
    private static readonly Task<bool> s_dropped = Task.FromResult(false);

    /// <summary>
    /// Sends a message of any size, as far as credit and space allow, and queues the rest. If parts of the message were
    /// sent already, <paramref name="message"/> is the rest of it, with the same flags. The sender takes over the bytes
    /// if it cannot send them at once.
    /// </summary>
    public void SendMessage(ConnectionCall call, FrameFlags flags, PooledBufferWriter message) =>
        SendOrQueue(call, flags, message, out _);

    /// <summary>
    /// Does the same as <see cref="SendMessage"/>, for a caller that awaits the message. Others should not pay for
    /// that: completing the task of a queued message can cost a thread switch to the thread pool, whose threads each
    /// spin on a processor before they sleep.
    /// </summary>
    /// <returns>
    /// A task that completes with true when the message is in the ring, or false if the call's end has dropped it.
    /// </returns>
    public Task<bool> SendMessageAsync(ConnectionCall call, FrameFlags flags, PooledBufferWriter message)
    {
        bool isSent = SendOrQueue(call, flags, message, out OutboundFrame? queued);
        return queued?.WaitUntilFinishedAsync() ?? (isSent ? s_sent : s_dropped);
    }

    /// <summary>Sends a call's only request, or the unsent rest of it; see <see cref="SendMessage"/>.</summary>
    public void SendRequest(ConnectionCall call, PooledBufferWriter request) =>
        SendMessage(call, FrameFlags.HalfClose | FrameFlags.Single, request);

    /// <summary>
    /// Sends as much of a part as possible at once, as the beginning of a message or after its earlier parts. At least
    /// one byte must remain for <see cref="SendMessage"/> or <see cref="SendMessageAsync"/>, which complete the message
    /// with the same flags. The call sends no other message meanwhile. Returns the number of bytes sent.
    /// </summary>
    public int SendPart(ConnectionCall call, FrameFlags flags, ReadOnlySpan<byte> part, int wholeLength)
    {
        int sentBytes = 0;
        int length;
        do
        {
            // The gate is left between two records, so other calls get their turn.
            length = SendRecord(call, flags, part[sentBytes..], wholeLength);
            sentBytes += length;
        }
        while (length > 0 && sentBytes < part.Length);
        return sentBytes;
    }

    /// <summary>Grants the peer <paramref name="bytes"/> more bytes of messages on this call.</summary>
    public void SendCredit(ConnectionCall call, uint bytes)
    {
        using (SendGate.Scope scope = _gate.Enter())
        {
            if (scope.IsClosed || OutboundQueue.IsSendingOver(call))
            {
                return;
            }

            call.Sending.UnsentGrant += bytes;
            _queue.EnqueueControl(call);
        }

        SendReady();
    }

    /// <summary>Adds credit from the peer and sends the frames it allows. The caller holds the reader role.</summary>
    /// <exception cref="ProtocolException">The credit exceeds <see cref="PeerLimits.LargestCallWindow"/>.</exception>
    public void AddCredit(ConnectionCall call, uint bytes)
    {
        using (SendGate.Scope scope = _gate.Enter())
        {
            call.Sending.Credit += bytes;
            if (call.Sending.Credit > PeerLimits.LargestCallWindow)
            {
                throw new ProtocolException(
                    $"Call {call.Id} would have {call.Sending.Credit} bytes of credit; at most "
                    + $"{PeerLimits.LargestCallWindow} are allowed.");
            }

            if (scope.IsClosed || !call.Sending.HasQueued)
            {
                return;
            }

            _queue.EnqueueReady(call);
            call.Sending.Set(SendStateFlags.ReaderSends);
        }

        SendReady();
        using (SendGate.Scope scope = _gate.Enter())
        {
            call.Sending.Set(SendStateFlags.ReaderSends, false);
        }
    }

    /// <summary>Sends a message at once, or queues the rest of it and sends what can go.</summary>
    /// <returns>True if the whole message was sent. If it was neither sent nor queued, it was dropped.</returns>
    private bool SendOrQueue(
        ConnectionCall call, FrameFlags flags, PooledBufferWriter message, out OutboundFrame? queued)
    {
        if (message.Piece is not null && TryRefer(message, out LentPiece? lent, out int wholeLength))
        {
            return SendReference(call, flags, message, lent, wholeLength, out queued);
        }

        bool isSent = TrySendOrQueue(call, flags, message, out queued);
        if (!isSent && message.IsBorrowed)
        {
            // The message has to wait, but its array is borrowed, so the queue needs a copy. It is made outside the
            // gate, so other calls can send meanwhile.
            message.Own();
            isSent = TrySendOrQueue(call, flags, message, out queued);
        }

        if (queued is not null)
        {
            SendReady(call);
        }

        return isSent;
    }

    /// <summary>As <see cref="SendOrQueue"/>, without sending more; a borrowed array is not queued.</summary>
    private bool TrySendOrQueue(
        ConnectionCall call, FrameFlags flags, PooledBufferWriter message, out OutboundFrame? queued)
    {
        queued = null;
        using SendGate.Scope scope = _gate.Enter();
        if (CannotSendMessages(scope, call))
        {
            return false;
        }

        bool isSent = _queue.TryGoFirst(call) && _writer.TryWriteMessage(call, flags, message.WrittenSpan);
        if (!isSent && !message.IsBorrowed)
        {
            byte[] buffer = message.Detach(out int length);
            queued = new OutboundFrame(FrameKind.Message, flags, buffer, length);
            _queue.Enqueue(call, queued);
        }

        scope.PublishOrDeferOnExit();
        return isSent;
    }

    private int SendRecord(ConnectionCall call, FrameFlags flags, ReadOnlySpan<byte> part, int wholeLength)
    {
        using SendGate.Scope scope = _gate.Enter();
        if (CannotSendMessages(scope, call) || call.Sending.Is(SendStateFlags.PartsStopped) || !_queue.TryGoFirst(call))
        {
            return 0;
        }

        scope.PublishOnExit();
        return _writer.WritePart(call, flags, part, wholeLength);
    }

    // The caller holds the gate.
    private static bool CannotSendMessages(in SendGate.Scope scope, ConnectionCall call) =>
        scope.IsClosed || OutboundQueue.IsSendingOver(call) || call.Sending.Is(SendStateFlags.MessagesStopped);
}
