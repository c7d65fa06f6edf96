using System.Buffers.Binary;
using System.Text;

namespace RpcOverShm.Protocol;

/// <summary>
/// Reads fields from private bytes that the peer wrote. Every length is checked against what is left; running out is
/// the peer's fault and a <see cref="ProtocolException"/>.
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

    /// <summary>
    /// UTF-8 with a length of 16 bits. What is no UTF-8 becomes replacement characters; it never throws.
    /// </summary>
    public string ReadShortText() => Encoding.UTF8.GetString(Take(ReadUInt16()));

    /// <summary>UTF-8 with a length of 32 bits.</summary>
    public string ReadLongText() => Encoding.UTF8.GetString(ReadBytes(ReadUInt32()));

    /// <summary>Checks that nothing is left over.</summary>
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
