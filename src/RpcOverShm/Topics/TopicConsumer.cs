namespace RpcOverShm.Topics;

/// <summary>The call of a stream of a topic, as the stream sees it. Called under no lock.</summary>
internal abstract class TopicConsumer
{
    /// <summary>Tells the publisher that all records before the position were read.</summary>
    /// <param name="position">The position.</param>
    /// <param name="turn">The turn of the topic in its call.</param>
    public abstract void Acknowledge(long position, ushort turn);

    /// <summary>Ends the connection, because the publisher has written what is not allowed.</summary>
    public abstract void OnViolation(Exception exception);
}
