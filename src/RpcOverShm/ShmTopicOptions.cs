using RpcOverShm.Segments;

namespace RpcOverShm;

/// <summary>The sizes of a <see cref="ShmTopic{T}"/>.</summary>
/// <remarks>Read by the constructor of the topic. Not thread-safe. Nothing to dispose.</remarks>
public sealed class ShmTopicOptions
{
    /// <summary>
    /// Gets or sets the shared memory, in bytes, for each codec whose clients map the topic, and for each service whose
    /// generated methods read it; a power of two from 64 KiB to 1 GiB.
    /// </summary>
    /// <remarks>
    /// Defaults to 4 MiB. It holds the newest messages: the more it holds, the longer a subscriber may be late. The
    /// largest message is a quarter of it. A channel maps it within <see cref="ShmChannelOptions.MaxTopicSize"/>.
    /// </remarks>
    public long Capacity { get; set; } = ShmDefaults.TopicCapacity;

    /// <summary>
    /// Gets or sets the number of messages that are kept for clients that do not map the topic; 1 or more.
    /// </summary>
    /// <remarks>
    /// Defaults to 1024. Their messages are written to their streams one by one: see <see cref="ShmTopic{T}"/>.
    /// </remarks>
    public int MaxMessages { get; set; } = ShmDefaults.TopicMessages;

    /// <summary>Gets or sets the number of streams that may read the topic at a time; 1 or more.</summary>
    /// <remarks>
    /// Defaults to 10,000. A further one ends with <see cref="Grpc.Core.StatusCode.ResourceExhausted"/>.
    /// </remarks>
    public int MaxSubscribers { get; set; } = ShmDefaults.MaxSubscribers;

    /// <exception cref="ArgumentException">A value is not allowed.</exception>
    internal void Check()
    {
        OptionRanges.Check(
            SegmentLayout.IsValidRingCapacity(Capacity),
            Capacity,
            nameof(Capacity),
            $"a power of two from {SegmentLayout.MinRingCapacityBytes} to {SegmentLayout.MaxRingCapacityBytes}");
        OptionRanges.Between(1, 1 << 20, MaxMessages, nameof(MaxMessages));
        OptionRanges.AtLeast(1, MaxSubscribers, nameof(MaxSubscribers));
    }
}
