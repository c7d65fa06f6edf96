using RpcOverShm.Rings;

namespace RpcOverShm.Topics;

/// <summary>
/// The sizes that derive from the capacity of a topic's ring. The publisher and each subscriber compute the same.
/// </summary>
internal static class TopicLimits
{
    /// <summary>
    /// Returns the largest payload of a message: a quarter of the ring, less the header. With the padding before it, a
    /// record takes at most half of the ring.
    /// </summary>
    public static int MaxPayloadBytes(long capacity) => (int)(capacity / 4) - RecordHeader.SizeBytes;

    /// <summary>
    /// Returns the bytes by which the oldest record advances at least. A subscriber that may be lapped loads that word
    /// after each record, so it should seldom change.
    /// </summary>
    public static long OldestStepBytes(long capacity) => capacity / 16;

    /// <summary>
    /// Returns the bytes by which a message may go ahead of the subscriber that waits and has read least. The rest is
    /// for the step by which the oldest record advances.
    /// </summary>
    public static long RoomBytes(long capacity) => capacity - OldestStepBytes(capacity);

    /// <summary>
    /// Returns the unpublished bytes with which a writer publishes before its next record, so that the newest published
    /// record is never older than the oldest one.
    /// </summary>
    public static long MaxUnpublishedBytes(long capacity) => capacity / 8;

    /// <summary>
    /// Returns the bytes that a subscriber which is waited for may read before it must tell the publisher.
    /// </summary>
    public static long UntoldBytes(long capacity) => capacity / 8;
}
