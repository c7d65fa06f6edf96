using System.Buffers;

namespace RpcOverShm.FunctionalTests.Codecs;

/// <summary>A piece of a sequence of bytes.</summary>
internal sealed class Pieces : ReadOnlySequenceSegment<byte>
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

    /// <summary>Bytes as a sequence of pieces of so many.</summary>
    public static ReadOnlySequence<byte> Of(byte[] bytes, int pieceBytes)
    {
        Pieces? first = null;
        Pieces? last = null;
        for (int at = 0; at < bytes.Length; at += pieceBytes)
        {
            last = new Pieces(bytes.AsMemory(at, Math.Min(pieceBytes, bytes.Length - at)), last);
            first ??= last;
        }

        return new ReadOnlySequence<byte>(first!, 0, last!, last!.Memory.Length);
    }
}
