using System.Buffers;
using System.Runtime.InteropServices;

namespace RpcOverShm.Samples;

/// <summary>The picture of a test camera: each row has one value, which depends on the frame's number.</summary>
internal static class Frame
{
    public const int Bytes = 16 << 20;

    private const int RowBytes = 4096;

    /// <summary>Draws a frame in the memory from which it will be read.</summary>
    public static void Draw(Span<byte> frame, int number)
    {
        for (int row = 0; row < Bytes / RowBytes; row++)
        {
            frame.Slice(row * RowBytes, RowBytes).Fill(ValueOf(number, row));
        }
    }

    /// <summary>Writes the negative of a frame. What was copied comes in several pieces.</summary>
    public static void Invert(in ReadOnlySequence<byte> frame, Span<byte> negative)
    {
        foreach (ReadOnlyMemory<byte> piece in frame)
        {
            ReadOnlySpan<ulong> from = MemoryMarshal.Cast<byte, ulong>(piece.Span);
            Span<ulong> to = MemoryMarshal.Cast<byte, ulong>(negative);
            for (int i = 0; i < from.Length; i++)
            {
                to[i] = ~from[i];
            }

            negative = negative[piece.Length..];
        }
    }

    /// <summary>Checks every byte of a negative.</summary>
    /// <exception cref="InvalidDataException">It is not the frame's.</exception>
    public static void Check(in ReadOnlySequence<byte> negative, int number)
    {
        if (negative.Length != Bytes)
        {
            throw new InvalidDataException($"Frame {number} has {negative.Length} bytes instead of {Bytes}.");
        }

        int at = 0;
        foreach (ReadOnlyMemory<byte> piece in negative)
        {
            for (ReadOnlySpan<byte> rest = piece.Span; !rest.IsEmpty;)
            {
                int length = Math.Min(rest.Length, RowBytes - (at % RowBytes));
                byte value = (byte)~ValueOf(number, at / RowBytes);
                if (rest[..length].ContainsAnyExcept(value))
                {
                    throw new InvalidDataException($"Frame {number} was changed in row {at / RowBytes}.");
                }

                at += length;
                rest = rest[length..];
            }
        }
    }

    private static byte ValueOf(int number, int row) => (byte)(number + row);
}
