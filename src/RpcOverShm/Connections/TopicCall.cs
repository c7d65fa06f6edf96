using RpcOverShm.Links;
using RpcOverShm.Topics;

namespace RpcOverShm.Connections;

/// <summary>A call of this side that reads a topic, as the topic sees it. Thread-safe.</summary>
internal sealed class TopicCall(PeerLink link, ConnectionCall call) : TopicConsumer
{
    public ConnectionCall Call => call;

    public override void OnViolation(Exception exception) => link.CloseForViolation(exception);
}
