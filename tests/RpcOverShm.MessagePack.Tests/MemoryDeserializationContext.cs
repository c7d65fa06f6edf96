using System.Buffers;
using Grpc.Core;

namespace RpcOverShm.MessagePack.Tests;

/// <summary>A message in memory, which can be read any number of times.</summary>
internal sealed class MemoryDeserializationContext(ReadOnlySequence<byte> payload) : DeserializationContext
{
    public override int PayloadLength => (int)payload.Length;

    /// <summary>Creates a context over pieces of at most this many bytes.</summary>
    public static MemoryDeserializationContext InPieces(byte[] bytes, int pieceBytes)
    {
        var first = new Piece(bytes.AsMemory(0, Math.Min(pieceBytes, bytes.Length)), null);
        Piece last = first;
        for (int i = pieceBytes; i < bytes.Length; i += pieceBytes)
        {
            last = new Piece(bytes.AsMemory(i, Math.Min(pieceBytes, bytes.Length - i)), last);
        }

        return new MemoryDeserializationContext(new ReadOnlySequence<byte>(first, 0, last, last.Memory.Length));
    }

    public override byte[] PayloadAsNewBuffer() => payload.ToArray();

    public override ReadOnlySequence<byte> PayloadAsReadOnlySequence() => payload;

    private sealed class Piece : ReadOnlySequenceSegment<byte>
    {
        public Piece(ReadOnlyMemory<byte> memory, Piece? before)
        {
            Memory = memory;
            if (before is not null)
            {
                RunningIndex = before.RunningIndex + before.Memory.Length;
                before.Next = this;
            }
        }
    }
}
