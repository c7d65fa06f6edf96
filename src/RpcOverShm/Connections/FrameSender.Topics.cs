using RpcOverShm.Protocol;

namespace RpcOverShm.Connections;

/// <content>Frames about topics.</content>
internal sealed partial class FrameSender
{
    /// <summary>
    /// Sends a frame among the messages of a call, or queues it behind them. Drops it if the call sends no messages any
    /// more. The task ends when it is written or dropped.
    /// </summary>
    public Task SendOfTopicAsync(ConnectionCall call, FrameKind kind, ReadOnlySpan<byte> payload)
    {
        OutboundFrame? queued = null;
        using (SendGate.Scope scope = _gate.Enter())
        {
            if (CannotSendMessages(scope, call))
            {
                return s_dropped;
            }

            if (!_queue.TryGoFirst(call) || !_writer.TryWriteWhole(call, kind, FrameFlags.None, default, payload))
            {
                queued = OutboundFrame.Copy(kind, FrameFlags.None, default, payload);
                _queue.Enqueue(call, queued);
            }

            scope.PublishOrDeferOnExit();
        }

        if (queued is null)
        {
            return s_sent;
        }

        SendReady();
        return queued.WaitUntilFinishedAsync();
    }
}
