using RpcOverShm.Protocol;

namespace RpcOverShm.Connections;

/// <content>Frames about topics.</content>
internal sealed partial class FrameSender
{
    /// <summary>
    /// Sends a frame among the messages of a call, or queues it behind them. Drops it if the call sends no messages any
    /// more.
    /// </summary>
    public void SendOfTopic(ConnectionCall call, FrameKind kind, ReadOnlySpan<byte> payload)
    {
        bool isSent;
        using (SendGate.Scope scope = _gate.Enter())
        {
            if (CannotSendMessages(scope, call))
            {
                return;
            }

            isSent = _queue.TryWriteOrQueue(call, kind, FrameFlags.None, default, payload);
            scope.PublishOrDeferOnExit();
        }

        if (!isSent)
        {
            SendReady();
        }
    }
}
