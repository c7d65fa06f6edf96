using RpcOverShm.Protocol;

namespace RpcOverShm.Sending;

/// <summary>
/// Sends the messages of calls that have begun: whole, or in parts while they are still being serialised. Waits for
/// nothing: what has no credit, no space or not its turn is left to its caller, or queued.
/// </summary>
internal sealed class MessageSender(
    FramePublisher publisher, FrameWriter writer, OutboundQueue queue, OutboundPump pump)
{
    private static readonly Task<bool> s_sent = Task.FromResult(true);
    private static readonly Task<bool> s_dropped = Task.FromResult(false);

    /// <summary>
    /// Sends a message of any size, or as much of it as credit and space allow; the rest is queued. Where parts of it
    /// were sent before, what is given here is the rest.
    /// </summary>
    /// <param name="call">The call.</param>
    /// <param name="flags">Whether a message follows or went before; the same for all parts.</param>
    /// <param name="message">The bytes; taken over when they cannot be sent at once.</param>
    public void Send(ConnectionCall call, FrameFlags flags, PooledBufferWriter message) =>
        SendOrQueue(call, flags, message, out _);

    /// <summary>
    /// The same, for whoever waits for it. Only then: each such end of a queued message is a hop to the thread pool,
    /// whose threads look for more work with a processor each before they sleep.
    /// </summary>
    /// <returns>
    /// Completes with true when the message is in the ring, with false when it was dropped because its call has ended.
    /// </returns>
    public Task<bool> SendAsync(ConnectionCall call, FrameFlags flags, PooledBufferWriter message)
    {
        bool isSent = SendOrQueue(call, flags, message, out OutboundFrame? queued);
        return queued?.WaitUntilFinishedAsync() ?? (isSent ? s_sent : s_dropped);
    }

    /// <summary>
    /// Sends as much of a part as can go at once, in the first record of a message or behind what was sent of it. At
    /// least one byte of the message must be left for <see cref="Send"/> or <see cref="SendAsync"/>, which end it.
    /// </summary>
    /// <param name="call">The call, which sends no other message meanwhile.</param>
    /// <param name="flags">As for <see cref="Send"/>.</param>
    /// <param name="part">The next bytes of the message.</param>
    /// <param name="wholeLength">How long the whole message is.</param>
    /// <returns>How many bytes were sent.</returns>
    public int SendPart(ConnectionCall call, FrameFlags flags, ReadOnlySpan<byte> part, int wholeLength)
    {
        int sentBytes = 0;
        int length;
        do
        {
            // Others get their turn between two records.
            length = SendRecord(call, flags, part[sentBytes..], wholeLength);
            sentBytes += length;
        }
        while (length > 0 && sentBytes < part.Length);
        return sentBytes;
    }

    /// <summary>
    /// Before the end of a call whose messages another thread may be writing: none of them goes out in parts any more.
    /// True when one has, and is not complete; the rest of it is dropped, and the call must not end well.
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

    /// <summary>Sends a message at once, or queues what is left of it and has that sent as it may go.</summary>
    /// <returns>True when it went at once. What was neither sent nor queued was dropped.</returns>
    private bool SendOrQueue(
        ConnectionCall call, FrameFlags flags, PooledBufferWriter message, out OutboundFrame? queued)
    {
        bool isSent = TrySendOrQueue(call, flags, message, out queued);
        if (!isSent && message.IsBorrowed)
        {
            // It has to wait, which its owner does not. Copied without the gate, since others send meanwhile.
            message.Own();
            isSent = TrySendOrQueue(call, flags, message, out queued);
        }

        if (queued is not null)
        {
            pump.SendReady();
        }

        return isSent;
    }

    /// <summary>The same, except that what was borrowed is not queued.</summary>
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

    // Under the gate.
    private static bool IsOver(in FramePublisher.Scope scope, ConnectionCall call) =>
        scope.IsClosed || OutboundQueue.IsOver(call) || call.Sending.IsCutShort;
}
