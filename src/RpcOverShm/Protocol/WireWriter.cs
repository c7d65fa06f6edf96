using System.Buffers.Binary;
using System.Text;
using RpcOverShm.Buffers;

namespace RpcOverShm.Protocol;

/// <summary>Appends little-endian fields to a pooled buffer: the counterpart of <see cref="WireReader"/>.</summary>
internal static class WireWriter
{
    public static void WriteByte(this PooledBufferWriter to, byte value) => to.Append(1)[0] = value;

    public static void WriteUInt16(this PooledBufferWriter to, ushort value) =>
        BinaryPrimitives.WriteUInt16LittleEndian(to.Append(2), value);

    public static void WriteUInt32(this PooledBufferWriter to, uint value) =>
        BinaryPrimitives.WriteUInt32LittleEndian(to.Append(4), value);

    public static void WriteInt64(this PooledBufferWriter to, long value) =>
        BinaryPrimitives.WriteInt64LittleEndian(to.Append(8), value);

    /// <summary>Appends UTF-8 text with a 16-bit length. The caller has checked that the length fits.</summary>
    public static void WriteShortText(this PooledBufferWriter to, string text)
    {
        to.WriteUInt16(checked((ushort)Encoding.UTF8.GetByteCount(text)));
        to.WriteUtf8(text);
    }

    /// <summary>Appends UTF-8 text with a 32-bit length. Unpaired surrogates become replacement characters.</summary>
    public static void WriteLongText(this PooledBufferWriter to, string text)
    {
        to.WriteUInt32((uint)Encoding.UTF8.GetByteCount(text));
        to.WriteUtf8(text);
    }

    private static void WriteUtf8(this PooledBufferWriter to, string text)
    {
        int length = Encoding.UTF8.GetBytes(text, to.GetSpan(Encoding.UTF8.GetMaxByteCount(text.Length)));
        to.Advance(length);
    }
}
