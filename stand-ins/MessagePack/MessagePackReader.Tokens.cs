using System.Buffers.Binary;
using System.Runtime.CompilerServices;

namespace MessagePack;

/// <content>
/// A token is a code and, for most codes, a number of fixed length after it: a value, a length or a count.
/// </content>
public ref partial struct MessagePackReader
{
    private const int LongestToken = 9;

    // By code from nil on; the codes below and above these hold their number in themselves. An extension's type counts
    // as the last byte of its length.
    private static ReadOnlySpan<byte> NumberLengths =>
    [
        0, 0, 0, 0, 1, 2, 4, 2, 3, 5, 4, 8, 1, 2, 4, 8,
        1, 2, 4, 8, 1, 1, 1, 1, 1, 1, 2, 4, 2, 4, 2, 4,
    ];

    /// <summary>
    /// Looks at the next token without taking it, and answers its length; 0 where it is not all there.
    /// </summary>
    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    private readonly int PeekToken(out byte code, out ulong number)
    {
        if (_span.Length - _at < LongestToken)
        {
            return PeekTokenNearEnd(out code, out number);
        }

        code = Here();
        int length = NumberLength(code);
        // One load serves every length. Shifting by all 64 bits would shift by none.
        ulong bytes = Unsafe.ReadUnaligned<ulong>(ref Unsafe.Add(ref Here(), 1));
        bytes = BitConverter.IsLittleEndian ? BinaryPrimitives.ReverseEndianness(bytes) : bytes;
        number = length == 0 ? 0 : bytes >> (64 - (8 * length));
        return length + 1;
    }

    private readonly int PeekTokenNearEnd(out byte code, out ulong number)
    {
        code = 0;
        number = 0;
        Span<byte> token = stackalloc byte[LongestToken];
        int available = CopyTo(token);
        if (available == 0)
        {
            return 0;
        }

        code = token[0];
        int length = NumberLength(code);
        if (available <= length)
        {
            return 0;
        }

        foreach (byte next in token.Slice(1, length))
        {
            number = (number << 8) | next;
        }

        return length + 1;
    }

    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    private readonly int RequireToken(out byte code, out ulong number)
    {
        int length = PeekToken(out code, out number);
        return length != 0 ? length : throw NotEnoughBytes();
    }

    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    private static int NumberLength(byte code)
    {
        int index = code - MessagePackCode.Nil;
        return (uint)index < (uint)NumberLengths.Length ? NumberLengths[index] : 0;
    }

    private readonly void RequireRemaining(long length)
    {
        if (Remaining < length)
        {
            throw NotEnoughBytes();
        }
    }

    private static EndOfStreamException NotEnoughBytes() => new();

    private static MessagePackSerializationException InvalidCode(byte code) =>
        new($"Unexpected msgpack code {code} ({MessagePackCode.ToFormatName(code)}) encountered.");
}
