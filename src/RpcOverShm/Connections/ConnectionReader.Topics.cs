using RpcOverShm.Scheduling;
using RpcOverShm.Topics;

namespace RpcOverShm.Connections;

/// <content>
/// The streams of a client that wait for messages of topics. Only the event loop wakes them: also while a blocking
/// caller holds the reader role, because topics are not in the ring.
/// </content>
internal sealed partial class ConnectionReader
{
    // The streams that are woken before the loop serves its other connections. The others make it run again.
    private const int MaxStreamsPerRun = 64;

    /// <summary>Wakes streams that have messages. Returns false if user code has lost the loop.</summary>
    private bool RunTopics(LoopThread me, PeerTopics topics)
    {
        topics.Unpark();
        for (int streams = 0; streams < MaxStreamsPerRun && topics.TryTakeReady(out TopicStream? stream); streams++)
        {
            ConnectionCall call = ((TopicCall)stream!.Consumer).Call;
            stream.CompleteWait();
            if (call.HasUnqueuedUserCode && !RunOrQueue(me, call, messages: 1))
            {
                return false;
            }
        }

        return true;
    }
}
