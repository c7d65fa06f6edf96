using RpcOverShm.Protocol;

namespace RpcOverShm.Connections;

/// <content>Frames of incoming one-way calls.</content>
internal sealed partial class FrameReceiver
{
    /// <summary>
    /// Receives a frame of an incoming one-way call. After the last one, further frames of the call are rejected.
    /// </summary>
    private void ReceiveOneWay(ConnectionCall call, in FrameHeader frame, ReadOnlySpan<byte> payload)
    {
        bool isWhole = (frame.Flags & FrameFlags.HalfClose) != 0;

        // Set before the method starts, because the report of its failure reads it.
        call.IsRequestKnownComplete = isWhole;
        try
        {
            DispatchToCall(call, frame, payload);
        }
        catch
        {
            call.IsRequestKnownComplete = false; // The last frame is a violation, so the call ends with the connection.
            throw;
        }

        if (isWhole || frame.Kind == FrameKind.Cancel)
        {
            _incoming.RejectFurtherFrames(call.Id);
        }
    }

    /// <summary>Checks the kind of a later frame of a one-way call.</summary>
    private static void CheckOneWayFrame(ConnectionCall call, in FrameHeader frame)
    {
        if (frame.Kind == FrameKind.Handles)
        {
            throw new ProtocolException($"The peer sent handles for one-way call {call.Id}, which has none.");
        }

        bool isWithoutSingle = frame.Kind == FrameKind.Message && (frame.Flags & FrameFlags.Single) == 0;
        if (isWithoutSingle || frame.Kind is FrameKind.HalfClose or FrameKind.Credit)
        {
            throw new ProtocolException(
                $"The peer sent a {frame.Kind} frame for one-way call {call.Id}. Such a call has one message, "
                + "with the flag Single, and no credit or half-close frame.");
        }
    }
}
