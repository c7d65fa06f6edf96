namespace RpcOverShm.Perf.Peer.Arms;

/// <summary>Protobuf, with the message of the gRPC arms.</summary>
internal sealed class ProtobufFormat : IWireFormat
{
    public string Name => "protobuf";

    public byte[] Serialise(ReadOnlyMemory<byte> payload, int prefixBytes)
    {
        var message = new Payload { Data = UnsafeByteOperations.UnsafeWrap(payload) };
        byte[] bytes = GC.AllocateUninitializedArray<byte>(prefixBytes + message.CalculateSize());
        message.WriteTo(bytes.AsSpan(prefixBytes));
        return bytes;
    }

    public ReadOnlyMemory<byte> Parse(ReadOnlySpan<byte> message) => Payload.Parser.ParseFrom(message).Data.Memory;
}

/// <summary>
/// A serialiser over a byte stream: what makes bytes of a message that has a payload, and a message of bytes. One
/// thread at a time.
/// </summary>
internal interface IWireFormat
{
    /// <summary>The name in the arm's: "pipe-NAME".</summary>
    string Name { get; }

    /// <summary>Makes a message around the payload and serialises it to a new place behind a prefix.</summary>
    byte[] Serialise(ReadOnlyMemory<byte> payload, int prefixBytes);

    /// <summary>Makes a message of its bytes and returns its payload.</summary>
    ReadOnlyMemory<byte> Parse(ReadOnlySpan<byte> message);
}
