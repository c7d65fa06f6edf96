using System.Buffers;

namespace RpcOverShm.FunctionalTests.Codecs;

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

    /// <summary>Returns the bytes as a sequence of segments of the given length.</summary>
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
