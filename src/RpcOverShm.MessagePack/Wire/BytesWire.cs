using Google.Protobuf;

namespace RpcOverShm.MessagePack.Wire;

/// <summary>bytes</summary>
internal readonly struct BytesWire : IScalarWire<ByteString>
{
    public static ByteString Default => ByteString.Empty;

    public static bool IsDefault(ByteString value) => value.Length == 0;

    public static long Size(ByteString value) => WireSize.Binary(value.Length);

    public static void Write(ref MessageWriter writer, ByteString value) => writer.WriteBinary(value.Span);

    public static ByteString Read(ref MessageReader reader) => reader.ReadBytes();
}
