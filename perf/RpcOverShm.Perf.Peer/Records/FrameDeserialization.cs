using System.Buffers;

namespace RpcOverShm.Perf.Peer.Records;

/// <summary>A message of a byte stream as a marshaller sees it. One thread at a time.</summary>
internal sealed class FrameDeserialization : DeserializationContext
{
    private ReadOnlyMemory<byte> _message;

    public override int PayloadLength => _message.Length;

    public T Read<T>(Marshaller<T> marshaller, ReadOnlyMemory<byte> message)
    {
        _message = message;
        return marshaller.ContextualDeserializer(this);
    }

    public override byte[] PayloadAsNewBuffer() => _message.ToArray();

    public override ReadOnlySequence<byte> PayloadAsReadOnlySequence() => new(_message);
}
