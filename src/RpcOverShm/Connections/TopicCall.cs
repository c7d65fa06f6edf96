using RpcOverShm.Links;
using RpcOverShm.Protocol;
using RpcOverShm.Topics;

namespace RpcOverShm.Connections;

/// <summary>A call of this side that reads a topic, as the topic sees it. Thread-safe.</summary>
internal sealed class TopicCall(PeerLink link, FrameSender sender, ConnectionCall call) : TopicConsumer
{
    public ConnectionCall Call => call;

    public override void Acknowledge(long position, ushort turn)
    {
        Span<byte> bytes = stackalloc byte[TopicReference.ReadBytes];
        TopicReference.EncodeRead(bytes, position, turn);
        sender.Send(call, FrameKind.TopicRead, FrameFlags.None, default, bytes);
    }

    public override void OnViolation(Exception exception) => link.CloseForViolation(exception);
}
