using System.Buffers.Binary;

namespace RpcOverShm.Testing;

/// <summary>
/// An endless sequence of bytes in which each byte depends on its position, so that a lost, doubled, moved or changed
/// byte is found. Writer and reader generate it from the same seed, in pieces of any size. It is fast enough for
/// gigabytes.
/// </summary>
public sealed class BytePattern(ulong seed)
{
    private ulong _position;

    /// <summary>Returns the first bytes of a sequence.</summary>
    public static byte[] Of(int length, ulong seed = 1)
    {
        byte[] bytes = new byte[length];
        new BytePattern(seed).Fill(bytes);
        return bytes;
    }

    /// <summary>Fills the buffer with the next bytes of the sequence.</summary>
    public void Fill(Span<byte> bytes)
    {
        Span<byte> word = stackalloc byte[8];
        while (!bytes.IsEmpty)
        {
            int skip = (int)(_position & 7);
            if (skip == 0 && bytes.Length >= 8)
            {
                BinaryPrimitives.WriteUInt64LittleEndian(bytes, WordAt(_position));
                bytes = bytes[8..];
                _position += 8;
                continue;
            }

            BinaryPrimitives.WriteUInt64LittleEndian(word, WordAt(_position));
            int count = Math.Min(8 - skip, bytes.Length);
            word.Slice(skip, count).CopyTo(bytes);
            bytes = bytes[count..];
            _position += (ulong)count;
        }
    }

    /// <summary>
    /// Compares the buffer with the next bytes of the sequence; returns the number of bytes that differ.
    /// </summary>
    public long CountWrong(ReadOnlySpan<byte> bytes)
    {
        long wrong = 0;
        Span<byte> word = stackalloc byte[8];
        while (!bytes.IsEmpty)
        {
            int skip = (int)(_position & 7);
            if (skip == 0 && bytes.Length >= 8 && BinaryPrimitives.ReadUInt64LittleEndian(bytes) == WordAt(_position))
            {
                bytes = bytes[8..];
                _position += 8;
                continue;
            }

            BinaryPrimitives.WriteUInt64LittleEndian(word, WordAt(_position));
            int count = Math.Min(8 - skip, bytes.Length);
            for (int i = 0; i < count; i++)
            {
                wrong += bytes[i] == word[skip + i] ? 0 : 1;
            }

            bytes = bytes[count..];
            _position += (ulong)count;
        }

        return wrong;
    }

    // One multiplication and a shift mix the position well enough: neighbouring words share no bytes systematically.
    private ulong WordAt(ulong position)
    {
        ulong mixed = ((position >> 3) + seed + 1) * 0x9E37_79B9_7F4A_7C15;
        return mixed ^ (mixed >> 29);
    }
}
