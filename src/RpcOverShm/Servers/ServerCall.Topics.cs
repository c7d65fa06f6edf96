using System.Buffers.Binary;
using RpcOverShm.Protocol;
using RpcOverShm.Topics;

namespace RpcOverShm.Servers;

/// <content>The messages of a topic, which the client reads out of the topic's memory.</content>
internal sealed partial class ServerCall
{
    private TopicReading? _topic; // the last one; null for most calls

    /// <summary>Whether responses are encoded, or may be.</summary>
    public bool MayEncodeResponse => _isResponseEncoded || Settings.ResponseEncoding is not null;

    /// <summary>Lets the client read a topic. <see cref="EndTopic"/> follows.</summary>
    public void BeginTopic(TopicRing ring, PassedTopic passed, TopicSubscription subscription)
    {
        Volatile.Write(ref _topic, new TopicReading(ring, subscription));
        Volatile.Write(ref _isResponseBegun, true);
        Span<byte> start = stackalloc byte[TopicReference.SizeBytes];
        (long position, long sequence) = subscription.Start;
        new TopicReference(passed.Number, subscription.WhenSlow, position, sequence).Encode(start);
        Connection.Sender.SendOfTopic(this, FrameKind.TopicStart, start);
    }

    /// <summary>Tells the client where its messages of the topic end.</summary>
    public void EndTopic(long position)
    {
        Span<byte> end = stackalloc byte[sizeof(long)];
        BinaryPrimitives.WriteInt64LittleEndian(end, position);
        Connection.Sender.SendOfTopic(this, FrameKind.TopicEnd, end);
    }

    public override void OnTopicRead(long position)
    {
        if (Volatile.Read(ref _topic) is not { } topic)
        {
            throw new ProtocolException($"The peer has read a topic for call {Id}, which has none.");
        }

        topic.Ring.OnRead(topic.Subscription, position);
    }

    private sealed record TopicReading(TopicRing Ring, TopicSubscription Subscription);
}
