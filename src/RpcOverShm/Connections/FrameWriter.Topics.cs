using RpcOverShm.Protocol;
using RpcOverShm.Topics;

namespace RpcOverShm.Connections;

/// <content>What is told about the files of topics.</content>
internal sealed partial class FrameWriter
{
    private bool TryWriteAnswers(PeerTopics topics)
    {
        while (topics.TryPeekAnswer(out uint number, out bool isMapped))
        {
            if (!TryWriteControl(CallId.None, isMapped ? FrameKind.FileMapped : FrameKind.FileRefused, number))
            {
                return false;
            }

            topics.DropAnswer();
        }

        return true;
    }

    // They do not stand among the frames of their calls: one that waits for credit must not hold them up.
    private bool TryWriteReads(PeerTopics topics)
    {
        Span<byte> read = stackalloc byte[TopicReference.ReadBytes];
        while (topics.TryPeekUntold(out TopicStream? stream))
        {
            ConnectionCall call = ((TopicCall)stream!.Consumer).Call;
            TopicReference.EncodeRead(read, stream.Told, stream.Turn);
            bool isOver = call.Sending.Phase >= CallSendPhase.Finished || call.IsEndedByPeer;
            if (!isOver
                && !TryWrite(call.Id, FrameKind.TopicRead, 0, default, read, 0, isControl: true))
            {
                return false;
            }

            topics.DropUntold();
        }

        return true;
    }

    private bool TryWriteDropped(PassedTopics passed)
    {
        while (passed.TryPeekDropped(out uint number))
        {
            if (!TryWriteControl(CallId.None, FrameKind.TopicDropped, number))
            {
                return false;
            }

            passed.DropDropped();
        }

        return true;
    }
}
