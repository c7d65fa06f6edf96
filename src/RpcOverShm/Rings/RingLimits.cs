namespace RpcOverShm.Rings;

/// <summary>
/// The sizes that follow from a ring's capacity. One place, because writer, reader and protocol must agree.
/// </summary>
internal static class RingLimits
{
    /// <summary>
    /// The largest payload of one record: an eighth of the ring, less the header. Then a record and the padding before
    /// it take at most a quarter, so that every record fits once the ring has drained, and waste is at most an eighth.
    /// </summary>
    public static int MaxPayloadBytes(long capacity) => (int)(capacity / 8) - RecordHeader.SizeBytes;

    /// <summary>
    /// What data must leave free, so that control records (credit, cancel, the end) pass a ring full of data.
    /// </summary>
    public static long ControlReserveBytes(long capacity) => capacity / 16;

    /// <summary>How much the reader consumes before it tells the writer, unless the writer waits for space.</summary>
    public static long LazyHeadBytes(long capacity) => capacity / 8;

    /// <summary>
    /// The free space at which a writer that waits for space is woken; an empty ring always wakes it.
    /// More than any claim needs (1/8 record + 1/8 padding + 1/16 reserve = 5/16), so that the woken writer
    /// does not go back to sleep.
    /// </summary>
    public static long SpaceWakeBytes(long capacity) => capacity * 3 / 8;
}
