using RpcOverShm.Buffers;

namespace RpcOverShm.Connections;

/// <content>Frames about topics, for calls that take part in one.</content>
internal abstract partial class ConnectionCall
{
    /// <summary>Takes the source of the next messages, which it owns from then on.</summary>
    public virtual void OnTopicStart(MessageSource source)
    {
        source.Dispose();
        throw NotExpected("the start of a topic");
    }

    /// <summary>Takes the position at which the messages of the topic end.</summary>
    public virtual void OnTopicEnd(long position) => throw NotExpected("the end of a topic");

    /// <summary>Takes the position up to which the peer has read a topic, by the turn of that.</summary>
    public virtual void OnTopicRead(long position, ushort turn) => throw NotExpected("a position in a topic");
}
