namespace RpcOverShm.Rings;

/// <summary>The sizes that derive from a ring's capacity. Writer, reader and protocol must agree on them.</summary>
internal static class RingLimits
{
    /// <summary>
    /// Returns the largest payload of a record: an eighth of the ring, less the header. A record and the padding before
    /// it then take at most a quarter, so every record fits into a drained ring, and padding wastes at most an eighth.
    /// </summary>
    public static int MaxPayloadBytes(long capacity) => (int)(capacity / 8) - RecordHeader.SizeBytes;

    /// <summary>
    /// Returns the bytes that data records leave free, so that control records (credit, cancel, half-close, GoAway,
    /// the end of a byte stream) still fit into a ring that is full of data.
    /// </summary>
    public static long ControlReserveBytes(long capacity) => capacity / 16;

    /// <summary>Returns the bytes that a reader may release before it must publish its head.</summary>
    public static long LazyHeadBytes(long capacity) => capacity / 8;

    /// <summary>
    /// Returns the free bytes at which a writer that is parked for space is woken; an empty ring always wakes it. The
    /// value exceeds the need of any claim (1/8 record + 1/8 padding + 1/16 reserve = 5/16), so that the woken writer
    /// does not park again.
    /// </summary>
    public static long SpaceWakeBytes(long capacity) => capacity * 3 / 8;
}
