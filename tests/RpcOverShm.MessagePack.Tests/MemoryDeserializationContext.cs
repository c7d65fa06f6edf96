using System.Buffers;
using Grpc.Core;
using RpcOverShm.Testing;

namespace RpcOverShm.MessagePack.Tests;

/// <summary>A message in memory, which can be read any number of times.</summary>
internal sealed class MemoryDeserializationContext(ReadOnlySequence<byte> payload) : DeserializationContext
{
    public override int PayloadLength => (int)payload.Length;

    /// <summary>Creates a context over pieces of at most this many bytes.</summary>
    public static MemoryDeserializationContext InPieces(byte[] bytes, int pieceBytes) =>
        new(Pieces.Of(bytes, pieceBytes));

    public override byte[] PayloadAsNewBuffer() => payload.ToArray();

    public override ReadOnlySequence<byte> PayloadAsReadOnlySequence() => payload;
}
