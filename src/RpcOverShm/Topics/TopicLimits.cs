using RpcOverShm.Rings;

namespace RpcOverShm.Topics;

/// <summary>
/// The sizes that derive from the capacity of a topic's ring. The publisher and each subscriber compute the same.
/// </summary>
internal static class TopicLimits
{
    public const long MinCapacityBytes = 64L << 10;

    public const long DefaultCapacityBytes = 4L << 20;

    public const long MaxCapacityBytes = 1L << 30;

    private const long MaxEndRecordBytes = 4096;

    /// <summary>
    /// Returns the largest payload of a message: a quarter of the ring, less the header. With the padding before it, a
    /// record takes at most half of the ring.
    /// </summary>
    public static int MaxPayloadBytes(long capacity) => (int)(capacity / 4) - RecordHeader.SizeBytes;

    /// <summary>Returns the largest payload of the end: a status and its text.</summary>
    public static int MaxEndPayloadBytes(long capacity) => (int)EndRecordBytes(capacity) - RecordHeader.SizeBytes;

    /// <summary>
    /// Returns the bytes by which the oldest record advances at least. A subscriber that may be lapped loads that word
    /// after each record, so it should seldom change.
    /// </summary>
    public static long OldestStepBytes(long capacity) => capacity / 16;

    /// <summary>
    /// Returns the bytes by which a message may go ahead of the subscriber that waits and has read least. The rest is
    /// for the end, with padding before it, and for the step by which the oldest record advances.
    /// </summary>
    public static long RoomBytes(long capacity) =>
        capacity - (2 * EndRecordBytes(capacity)) - OldestStepBytes(capacity);

    /// <summary>
    /// Returns the unpublished bytes with which a writer publishes before its next record, so that the newest published
    /// record is never older than the oldest one.
    /// </summary>
    public static long MaxUnpublishedBytes(long capacity) => capacity / 8;

    /// <summary>Returns the bytes that a subscriber which waits may release before it must publish its head.</summary>
    public static long LazyHeadBytes(long capacity) => capacity / 8;

    /// <summary>Returns whether the capacity is a power of two within the limits.</summary>
    public static bool IsValidCapacity(long bytes) =>
        bytes is >= MinCapacityBytes and <= MaxCapacityBytes && (bytes & (bytes - 1)) == 0;

    private static long EndRecordBytes(long capacity) => Math.Min(capacity / 8, MaxEndRecordBytes);
}
