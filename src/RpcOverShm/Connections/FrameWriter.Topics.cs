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
