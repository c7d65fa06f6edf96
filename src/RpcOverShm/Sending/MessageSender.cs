using RpcOverShm.Buffers;
using RpcOverShm.Protocol;

namespace RpcOverShm.Sending;

/// <summary>
/// Sends messages of started calls: whole, or in parts while they are still being serialised. Never waits: bytes
/// without credit, space or turn are queued or left to the caller.
/// </summary>
internal sealed class MessageSender(
    FramePublisher publisher, FrameWriter writer, OutboundQueue queue, OutboundPump pump)
{
    private static readonly Task<bool> s_sent = Task.FromResult(true);
    private static readonly Task<bool> s_dropped = Task.FromResult(false);

    /// <summary>
    /// Sends a message of any size, as far as credit and space allow, and queues the rest. If parts of the message were
    /// sent already, <paramref name="message"/> is the rest of it.
    /// </summary>
    /// <param name="call">The call. It has started.</param>
    /// <param name="flags">The flags of the message; the same for all its parts.</param>
    /// <param name="message">The bytes. The sender takes them over if they cannot be sent at once.</param>
    public void Send(ConnectionCall call, FrameFlags flags, PooledBufferWriter message) =>
        SendOrQueue(call, flags, message, out _);

    /// <summary>
    /// Does the same as <see cref="Send"/>, for a caller that awaits the message. Not for others: completing the task
    /// of a queued message can cost a thread switch to the thread pool, whose threads spin for more work before they
    /// sleep and so occupy a processor each.
    /// </summary>
    /// <returns>
    /// A task that completes with true when the message is in the ring, or false if the call's end has dropped it.
    /// </returns>
    public Task<bool> SendAsync(ConnectionCall call, FrameFlags flags, PooledBufferWriter message)
    {
        bool isSent = SendOrQueue(call, flags, message, out OutboundFrame? queued);
        return queued?.WaitUntilFinishedAsync() ?? (isSent ? s_sent : s_dropped);
    }

    /// <summary>
    /// Sends as much of a part as possible at once, as the beginning of a message or after its earlier parts. At least
    /// one byte must remain for <see cref="Send"/> or <see cref="SendAsync"/>, which complete the message.
    /// </summary>
    /// <param name="call">The call. It sends no other message meanwhile.</param>
    /// <param name="flags">The flags of the message; the same for all its parts.</param>
    /// <param name="part">The next bytes of the message.</param>
    /// <param name="wholeLength">The length of the whole message in bytes.</param>
    /// <returns>The number of bytes sent.</returns>
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

    /// <summary>
    /// Stops sending in parts before the end of a call, whose messages another thread may be writing. Returns true if a
    /// message was partly sent; its rest is dropped, and the call must not end with OK.
    /// </summary>
    public bool BreakOff(ConnectionCall call)
    {
        using (publisher.Enter())
        {
            call.Sending.IsWithoutParts = true;
            bool isBroken = call.Sending.IsMessageBegun && !call.Sending.HasQueued;
            if (isBroken)
            {
                call.Sending.CutShort();
            }

            return isBroken;
        }
    }

    /// <summary>Sends a message at once, or queues the rest of it and starts the pump.</summary>
    /// <returns>True if the whole message was sent. If it was neither sent nor queued, it was dropped.</returns>
    private bool SendOrQueue(
        ConnectionCall call, FrameFlags flags, PooledBufferWriter message, out OutboundFrame? queued)
    {
        bool isSent = TrySendOrQueue(call, flags, message, out queued);
        if (!isSent && message.IsBorrowed)
        {
            // The message has to wait, but its owner keeps the array. Copied outside the gate: other calls send
            // meanwhile.
            message.Own();
            isSent = TrySendOrQueue(call, flags, message, out queued);
        }

        if (queued is not null)
        {
            pump.SendReady();
        }

        return isSent;
    }

    /// <summary>As <see cref="SendOrQueue"/>, without the pump; a borrowed array is not queued.</summary>
    private bool TrySendOrQueue(
        ConnectionCall call, FrameFlags flags, PooledBufferWriter message, out OutboundFrame? queued)
    {
        queued = null;
        using FramePublisher.Scope scope = publisher.Enter();
        if (IsOver(scope, call))
        {
            return false;
        }

        bool isSent = queue.CanGoNow(call) && writer.TryWriteMessage(call, flags, message.WrittenSpan);
        if (!isSent && !message.IsBorrowed)
        {
            byte[] buffer = message.Detach(out int length);
            queued = new OutboundFrame(FrameKind.Message, flags, buffer, length);
            queue.Enqueue(call, queued);
        }

        scope.PublishOrDefer();
        return isSent;
    }

    private int SendRecord(ConnectionCall call, FrameFlags flags, ReadOnlySpan<byte> part, int wholeLength)
    {
        using FramePublisher.Scope scope = publisher.Enter();
        if (IsOver(scope, call) || call.Sending.IsWithoutParts || !queue.CanGoNow(call))
        {
            return 0;
        }

        scope.Publish();
        return writer.WritePart(call, flags, part, wholeLength);
    }

    // The caller holds the gate.
    private static bool IsOver(in FramePublisher.Scope scope, ConnectionCall call) =>
        scope.IsClosed || OutboundQueue.IsOver(call) || call.Sending.IsCutShort;
}
