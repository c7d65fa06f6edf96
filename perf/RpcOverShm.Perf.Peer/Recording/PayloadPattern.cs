using System.Buffers;

namespace RpcOverShm.Perf.Peer.Recording;

/// <summary>
/// The content of a message: its number in the first eight bytes, then bytes that depend on their place and on the
/// number. Sender and receiver make it from the same table, so that one comparison of memory checks all of it; for
/// small messages that costs a few nanoseconds.
/// </summary>
internal static class PayloadPattern
{
    public const int NumberBytes = sizeof(long);

    /// <summary>
    /// Messages whose numbers differ by a multiple of this have the same bytes after the number. It is not a power of
    /// two, and so does not divide the number of equal messages in a ring: stale bytes of the previous lap differ from
    /// the right ones.
    /// </summary>
    public const int Variants = 7;

    // Not a multiple of 8 or 16: a message that was copied from a wrong aligned place differs too.
    private const int VariantStepBytes = 61;
    private const int LargestPayload = 16 << 20;

    private const int SmallPayload = 4 << 10;

    private static readonly byte[] s_small = MakeTable(SmallPayload);

    /// <summary>Writes a message. A message that is shorter than its number has only the other bytes.</summary>
    public static void Fill(Span<byte> payload, long number)
    {
        Body(payload.Length, number).CopyTo(payload);
        SetNumber(payload, number);
    }

    /// <summary>Turns a filled message into that of another number of the same variant.</summary>
    public static void SetNumber(Span<byte> payload, long number)
    {
        if (payload.Length >= NumberBytes)
        {
            BinaryPrimitives.WriteInt64LittleEndian(payload, number);
        }
    }

    /// <summary>Counts the wrong bytes of a received message; a wrong length counts as well.</summary>
    public static long CountWrong(ReadOnlySpan<byte> payload, long number, int lengthExpected)
    {
        if (payload.Length != lengthExpected)
        {
            return Math.Max(1, Math.Max(payload.Length, lengthExpected));
        }

        if (payload.Length < NumberBytes)
        {
            return CountWrongBody(payload, number);
        }

        long wrong = BinaryPrimitives.ReadInt64LittleEndian(payload) == number ? 0 : NumberBytes;
        return wrong + CountWrongBody(payload, number);
    }

    /// <summary>Counts the wrong bytes of a received message in pieces; a wrong length counts as well.</summary>
    public static long CountWrong(in ReadOnlySequence<byte> payload, long number, int lengthExpected)
    {
        if (payload.IsSingleSegment || payload.Length != lengthExpected)
        {
            return CountWrong(payload.FirstSpan, number, lengthExpected);
        }

        long wrong = BinaryPrimitives.ReadInt64LittleEndian(payload.FirstSpan) == number ? 0 : NumberBytes;
        return wrong + CountWrong(payload);
    }

    /// <summary>
    /// Counts the wrong bytes of a request, whose number the server does not know; the client checks the number in the
    /// answer.
    /// </summary>
    public static long CountWrong(ReadOnlySpan<byte> payload)
    {
        long number = payload.Length < NumberBytes ? 0 : BinaryPrimitives.ReadInt64LittleEndian(payload);
        return CountWrongBody(payload, number);
    }

    /// <summary>Counts the wrong bytes of a request in pieces; the first piece has its number.</summary>
    public static long CountWrong(in ReadOnlySequence<byte> payload)
    {
        if (payload.IsSingleSegment)
        {
            return CountWrong(payload.FirstSpan);
        }

        long number = BinaryPrimitives.ReadInt64LittleEndian(payload.FirstSpan);
        ReadOnlySpan<byte> expected = Body((int)payload.Length, number);
        int at = NumberBytes;
        long wrong = 0;
        foreach (ReadOnlyMemory<byte> piece in payload.Slice(NumberBytes))
        {
            wrong += CountDifferent(piece.Span, expected.Slice(at, piece.Length));
            at += piece.Length;
        }

        return wrong;
    }

    private static long CountWrongBody(ReadOnlySpan<byte> payload, long number)
    {
        int skip = payload.Length < NumberBytes ? 0 : NumberBytes;
        return CountDifferent(payload[skip..], Body(payload.Length, number)[skip..]);
    }

    private static long CountDifferent(ReadOnlySpan<byte> found, ReadOnlySpan<byte> expected)
    {
        if (found.SequenceEqual(expected))
        {
            return 0;
        }

        long wrong = 0;
        for (int i = 0; i < found.Length; i++)
        {
            wrong += found[i] == expected[i] ? 0 : 1;
        }

        return wrong;
    }

    private static ReadOnlySpan<byte> Body(int length, long number)
    {
        int variant = length < NumberBytes ? 0 : (int)((ulong)number % Variants);
        byte[] table = length <= SmallPayload ? s_small : Large.Table;
        return table.AsSpan(variant * VariantStepBytes, length);
    }

    private static byte[] MakeTable(int largest)
    {
        byte[] table = GC.AllocateUninitializedArray<byte>(largest + (Variants * VariantStepBytes));
        new Random(0x5EED).NextBytes(table);
        return table;
    }

    // Making it takes a tenth of a second, which a program should not pay that has just started and sends little.
    private static class Large
    {
        public static byte[] Table { get; } = MakeTable(LargestPayload);
    }
}
