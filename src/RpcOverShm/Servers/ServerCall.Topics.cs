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

    /// <summary>Lets the client read a topic. <see cref="EndTopicAsync"/> follows.</summary>
    public void BeginTopic(TopicRing ring, PassedTopic passed, TopicSubscription subscription)
    {
        var turn = (ushort)(_topic is null ? 0 : _topic.Turn + 1);
        Volatile.Write(ref _topic, new TopicReading(ring, subscription, turn));
        Volatile.Write(ref _isResponseBegun, true);
        Span<byte> start = stackalloc byte[TopicReference.SizeBytes];
        (long position, long sequence) = subscription.Start;
        new TopicReference(passed.Number, subscription.WhenSlow, turn, position, sequence).Encode(start);
        _ = Connection.Sender.SendOfTopicAsync(this, FrameKind.TopicStart, start);
    }

    /// <summary>
    /// Tells the client where its messages of the topic end. The task ends when that is written, or the call has ended:
    /// nothing more is sent for this topic.
    /// </summary>
    public Task EndTopicAsync(long position)
    {
        Span<byte> end = stackalloc byte[sizeof(long)];
        BinaryPrimitives.WriteInt64LittleEndian(end, position);
        return Connection.Sender.SendOfTopicAsync(this, FrameKind.TopicEnd, end);
    }

    public override void OnTopicRead(long position, ushort turn)
    {
        if (Volatile.Read(ref _topic) is not { } topic || (short)(topic.Turn - turn) < 0)
        {
            throw new ProtocolException($"The peer has read topic {turn} of call {Id}, which has not begun.");
        }

        // What the client has read of an earlier topic matters no more.
        if (turn == topic.Turn)
        {
            topic.Ring.OnRead(topic.Subscription, position);
        }
    }

    private sealed record TopicReading(TopicRing Ring, TopicSubscription Subscription, ushort Turn);
}
