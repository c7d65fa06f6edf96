using System.Buffers;

namespace RpcOverShm.Buffers;

/// <summary>
/// Bytes in memory that another process maps too: a message refers to them instead of having them. The owner, a
/// payload, disposes it. Frames that wait to be sent, and pins, are further uses. Thread-safe, but not the bytes.
/// </summary>
internal abstract class SharedPiece : MemoryManager<byte>
{
    public abstract int Length { get; }

    /// <summary>The bytes, for one who has a use: readable after <see cref="Dispose"/> too.</summary>
    public abstract ReadOnlySpan<byte> UsedBytes { get; }

    /// <summary>Adds a use, until <see cref="EndUse"/>. Returns false if there is none left to add it to.</summary>
    public abstract bool TryAddUse();

    /// <summary>Ends a use; with the last one the memory is given back.</summary>
    public abstract void EndUse();

    /// <summary>Ends the owner's use, once.</summary>
    public void Dispose() => ((IDisposable)this).Dispose();
}

/// <summary>The last segment of a message that ends with a piece.</summary>
internal sealed class PieceSegment : ReadOnlySequenceSegment<byte>
{
    private PieceSegment(ReadOnlyMemory<byte> memory) => Memory = memory;

    /// <summary>Returns the bytes before a piece, and those of the piece.</summary>
    public static ReadOnlySequence<byte> Join(ReadOnlyMemory<byte> before, SharedPiece piece)
    {
        if (before.IsEmpty)
        {
            return new ReadOnlySequence<byte>(piece.Memory);
        }

        var first = new PieceSegment(before);
        var last = new PieceSegment(piece.Memory) { RunningIndex = before.Length };
        first.Next = last;
        return new ReadOnlySequence<byte>(first, 0, last, piece.Length);
    }
}
