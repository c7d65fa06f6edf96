using Google.Protobuf;
using RpcOverShm.Testing.Protos;

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
