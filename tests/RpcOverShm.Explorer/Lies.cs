using RpcOverShm.Explorer.Model;
using RpcOverShm.Rings;

namespace RpcOverShm.Explorer;

/// <summary>The values that a hostile side stores into its words and records, at any moment.</summary>
internal static class Lies
{
    private const int Pieces = 32;
    private const long Far = 1L << 40;

    private static readonly uint[] s_lengths =
        [0, 1, 17, 32, 33, 208, 209, 224, 240, 0x7FFF_FFF0, 0xFFFF_FFE0, 0xFFFF_FFF0, 0xFFFF_FFFF];

    // The places of the records that the scenarios write, in units of eight bytes.
    private static readonly int[] s_headers = [0, 4, 8, 30];

    private static readonly MemoryMap s_map = new(Pieces * sizeof(long));

    /// <summary>Lies of process A about its ring: its tail, its parked word, and the headers of its records.</summary>
    public static IEnumerable<long> OfWriter(int location, long present)
    {
        if (location == MemoryMap.Word(0, MemoryMap.Tail))
        {
            return Positions(present);
        }

        if (location == MemoryMap.Word(0, MemoryMap.ParkedForSpace))
        {
            return [0, 1, 2, 3, -1, 17, Far | 1];
        }

        return Array.Exists(s_headers, piece => location == s_map.Data(0, piece)) ? Headers() : [];
    }

    /// <summary>Lies of process B about the ring that it reads: its head and its parked word.</summary>
    public static IEnumerable<long> OfReader(int location, long present)
    {
        if (location == MemoryMap.Word(1, MemoryMap.Head))
        {
            return Positions(present);
        }

        return location == MemoryMap.Word(1, MemoryMap.ParkedForData) ? [0, 1, 2, 3, -1, 17, Far | 1] : [];
    }

    /// <summary>Lies that make a ring of one record look like padding from its start to its end.</summary>
    public static IEnumerable<long> OfWholeRing(int location, long _)
    {
        const int Whole = Pieces * sizeof(long);
        return location == MemoryMap.Word(0, MemoryMap.Tail) ? [Whole]
            : location == s_map.Data(0, 0) ? [(Whole - RecordHeader.SizeBytes) | ((long)RecordHeader.PaddingKind << 32)]
            : [];
    }

    /// <summary>Lies of process A that has a second ring: its tail, and moves at any place, with any payload.</summary>
    public static IEnumerable<long> OfMover(int location, long present) =>
        location == MemoryMap.Word(0, MemoryMap.Tail) ? Positions(present)
            : MemoryMap.IsData(location) && present != 0
                ? [(long)RecordHeader.MovedKind << 32, 16 | ((long)RecordHeader.MovedKind << 32)]
                : [];

    /// <summary>Lies of the publisher of a topic: its positions, and the headers of its records.</summary>
    public static IEnumerable<long> OfPublisher(int location, long present)
    {
        if (location == MemoryMap.Word(0, MemoryMap.Tail)
            || location == MemoryMap.Word(0, MemoryMap.NewestRecord)
            || location == MemoryMap.Word(0, MemoryMap.OldestRecord))
        {
            return Positions(present);
        }

        // The records of the scenarios are of 32 bytes: their headers have two pieces each, and the second a number.
        int piece = location - s_map.Data(0, 0);
        return piece < 0 || (present == 0 && piece != 1) ? []
            : (piece & 3) == 0 ? Headers().Concat([Header(2, 8), Header(1, 8) | (1L << 40), Header(1, 8) | (1L << 48)])
            : (piece & 3) == 1 ? [-1, 0, 1, present + 1, long.MaxValue]
            : [];
    }

    /// <summary>Lies of process B that subscribes to a topic: its parked word.</summary>
    public static IEnumerable<long> OfSubscriber(int location, long present) =>
        location == MemoryMap.Word(1, MemoryMap.TopicParking) ? [0, 1, 2, 3, -1, 17, present + 2, Far | 1] : [];

    private static IEnumerable<long> Positions(long present) =>
    [
        0, -1, -16, 1, present + 1, present - 16, present + 8, present + 16, present + 64, present + 256, present + Far,
        long.MinValue, long.MaxValue & ~15L,
    ];

    private static IEnumerable<long> Headers() =>
        from length in s_lengths
        from kind in new byte[] { 0, 1, RecordHeader.MovedKind, RecordHeader.PaddingKind }
        select Header(kind, length);

    private static long Header(byte kind, uint length) => length | ((long)kind << 32);
}
