using System.Buffers;

namespace RpcOverShm.Testing;

/// <summary>Bytes as a sequence of segments, as they may come from a pipe.</summary>
public sealed class Pieces : ReadOnlySequenceSegment<byte>
{
    private Pieces(ReadOnlyMemory<byte> memory, Pieces? previous)
    {
        Memory = memory;
        if (previous is not null)
        {
            RunningIndex = previous.RunningIndex + previous.Memory.Length;
            previous.Next = this;
        }
    }

    /// <summary>Returns the bytes as a sequence of segments of the given length.</summary>
    public static ReadOnlySequence<byte> Of(byte[] bytes, int pieceBytes)
    {
        var first = new Pieces(bytes.AsMemory(0, Math.Min(pieceBytes, bytes.Length)), null);
        Pieces last = first;
        for (int at = pieceBytes; at < bytes.Length; at += pieceBytes)
        {
            last = new Pieces(bytes.AsMemory(at, Math.Min(pieceBytes, bytes.Length - at)), last);
        }

        return new ReadOnlySequence<byte>(first, 0, last, last.Memory.Length);
    }
}
