using System.Buffers.Binary;
using System.Text;

namespace RpcOverShm.Protocol;

/// <summary>
/// Reads fields from a private copy of the peer's bytes. Every length is checked against the remaining bytes; if there
/// are too few, the read fails with <see cref="ProtocolException"/>.
/// </summary>
internal ref struct WireReader(ReadOnlySpan<byte> bytes)
{
    private ReadOnlySpan<byte> _rest = bytes;

    public readonly int Remaining => _rest.Length;

    public byte ReadByte() => Take(1)[0];

    public ushort ReadUInt16() => BinaryPrimitives.ReadUInt16LittleEndian(Take(2));

    public uint ReadUInt32() => BinaryPrimitives.ReadUInt32LittleEndian(Take(4));

    public long ReadInt64() => BinaryPrimitives.ReadInt64LittleEndian(Take(8));

    public ReadOnlySpan<byte> ReadBytes(uint length) =>
        length <= int.MaxValue ? Take((int)length) : throw TooShort(length);

    /// <summary>Reads UTF-8 text with a 16-bit length. Invalid UTF-8 becomes replacement characters.</summary>
    public string ReadShortText() => Encoding.UTF8.GetString(Take(ReadUInt16()));

    /// <summary>Reads UTF-8 text with a 32-bit length. Invalid UTF-8 becomes replacement characters.</summary>
    public string ReadLongText() => Encoding.UTF8.GetString(ReadBytes(ReadUInt32()));

    /// <summary>Checks that no bytes remain.</summary>
    public readonly void End(string what)
    {
        if (_rest.Length != 0)
        {
            throw new ProtocolException($"{_rest.Length} bytes too many in {what}.");
        }
    }

    private ReadOnlySpan<byte> Take(int length)
    {
        if (length > _rest.Length)
        {
            throw TooShort((uint)length);
        }

        ReadOnlySpan<byte> taken = _rest[..length];
        _rest = _rest[length..];
        return taken;
    }

    private readonly ProtocolException TooShort(uint length) =>
        new($"A field of {length} bytes where {_rest.Length} are left.");
}
