namespace RpcOverShm.Topics;

/// <summary>The call of a stream of a topic, as the stream sees it. Called under no lock.</summary>
internal abstract class TopicConsumer
{
    /// <summary>Ends the connection, because the publisher has written what is not allowed.</summary>
    public abstract void OnViolation(Exception exception);
}
