using RpcOverShm.Protocol;
using RpcOverShm.Topics;

namespace RpcOverShm.Connections;

/// <content>Topics: files of the server that the client maps, and the calls that read them.</content>
internal sealed partial class FrameReceiver
{
    private static bool IsOfTopic(in FrameHeader frame) => frame.Kind == FrameKind.TopicDropped
        || (frame.Kind is FrameKind.FileMapped or FrameKind.FileRefused && frame.Argument >= FileNotice.FirstTopic);

    /// <summary>Takes a frame of the connection about the file of a topic.</summary>
    /// <exception cref="ProtocolException">It is not allowed.</exception>
    private void ReceiveTopicNews(in FrameHeader frame)
    {
        if (frame.Kind == FrameKind.TopicDropped)
        {
            (_link.PeerTopics ?? throw WithoutTopics(frame.Kind)).Drop(frame.Argument);
        }
        else
        {
            (_link.PassedTopics ?? throw WithoutTopics(frame.Kind))
                .OnAnswer(frame.Argument, frame.Kind == FrameKind.FileMapped);
        }
    }

    /// <summary>Takes a frame of a call about a topic. The payload is copied: the peer could change it.</summary>
    /// <exception cref="ProtocolException">It is not allowed.</exception>
    private void ReceiveOfTopic(ConnectionCall call, FrameKind kind, ReadOnlySpan<byte> payload)
    {
        if ((kind == FrameKind.TopicRead) != (call.Id.IsFromAcceptor != _link.IsAcceptor))
        {
            throw new ProtocolException($"The peer sent {kind} for call {call.Id}, which only this side may send.");
        }

        Span<byte> copy = stackalloc byte[TopicReference.SizeBytes];
        if (payload.Length > copy.Length)
        {
            throw new ProtocolException($"The peer sent {kind} with {payload.Length} bytes.");
        }

        payload.CopyTo(copy);
        copy = copy[..payload.Length];
        switch (kind)
        {
            case FrameKind.TopicStart:
                PeerTopics topics = _link.PeerTopics ?? throw WithoutTopics(kind);
                call.OnTopicStart(topics.Open(TopicReference.Decode(copy), new TopicCall(_link, call)));
                break;
            case FrameKind.TopicEnd:
                call.OnTopicEnd(TopicReference.DecodeEnd(copy));
                break;
            default:
                (long position, ushort turn) = TopicReference.DecodeRead(copy);
                call.OnTopicRead(position, turn);
                break;
        }
    }

    private static ProtocolException WithoutTopics(FrameKind kind) =>
        new($"The peer sent {kind} on a connection without topics.");
}
