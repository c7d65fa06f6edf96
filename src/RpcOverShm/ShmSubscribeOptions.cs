using Grpc.Core;

namespace RpcOverShm;

/// <summary>The options of one stream that reads a <see cref="ShmTopic{T}"/>.</summary>
/// <remarks>Read when the subscription begins. Not thread-safe. Nothing to dispose.</remarks>
public sealed class ShmSubscribeOptions
{
    /// <summary>Gets or sets what happens when the client reads slower than the publisher writes.</summary>
    /// <remarks>Defaults to <see cref="ShmSlowSubscriber.Wait"/>.</remarks>
    public ShmSlowSubscriber SlowSubscriber { get; set; } = ShmSlowSubscriber.Wait;

    /// <summary>
    /// Gets or sets the time for which the publisher waits for this subscriber; more than zero and below 24 days. Only
    /// for <see cref="ShmSlowSubscriber.Wait"/>.
    /// </summary>
    /// <remarks>
    /// Defaults to one second. It is the time in which the subscriber must read all that the topic held when the
    /// publisher began to wait for it, and not the time for each message: a subscriber that reads a little at a time
    /// does not hold the publisher back for ever. After that, its stream ends with
    /// <see cref="StatusCode.ResourceExhausted"/>.
    /// </remarks>
    public TimeSpan MaxWait { get; set; } = TimeSpan.FromSeconds(1);

    /// <summary>Gets or sets the first message that the stream gets.</summary>
    /// <remarks>Defaults to <see cref="ShmTopicStart.Now"/>.</remarks>
    public ShmTopicStart Start { get; set; } = ShmTopicStart.Now;

    internal static ShmSubscribeOptions Default { get; } = new();

    /// <exception cref="ArgumentException">A value is not allowed.</exception>
    internal void Check()
    {
        OptionRanges.Timer(MaxWait, nameof(MaxWait));
        OptionRanges.OneOf<ShmSlowSubscriber>(SlowSubscriber, nameof(SlowSubscriber));
        OptionRanges.OneOf<ShmTopicStart>(Start, nameof(Start));
    }
}

/// <summary>The treatment of a subscriber that reads slower than the publisher writes.</summary>
public enum ShmSlowSubscriber
{
    /// <summary>
    /// The publisher waits for it, at most for <see cref="ShmSubscribeOptions.MaxWait"/>. Then the subscriber's stream
    /// ends with <see cref="StatusCode.ResourceExhausted"/>.
    /// </summary>
    Wait = 0,

    /// <summary>
    /// Its stream ends with <see cref="StatusCode.DataLoss"/> as soon as a message is lost for it. The detail says how
    /// many are.
    /// </summary>
    End = 1,

    /// <summary>
    /// It goes on with the newest message. The trailer <c>rpcovershm-topic-skipped</c> has the number of messages that
    /// it did not get; <see cref="Grpc.Core.ShmTopicExtensions.GetSkippedMessages{T}"/> has it meanwhile.
    /// </summary>
    Skip = 2,
}

/// <summary>The first message that a subscriber of a topic gets.</summary>
public enum ShmTopicStart
{
    /// <summary>The first one that is published after the subscription has begun.</summary>
    Now = 0,

    /// <summary>
    /// The oldest one that the topic still holds for the codec of the call. A topic holds what was published since
    /// there has been a subscriber of that codec.
    /// </summary>
    Oldest = 1,
}
