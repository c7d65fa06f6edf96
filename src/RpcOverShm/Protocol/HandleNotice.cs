using System.Buffers.Binary;

namespace RpcOverShm.Protocol;

/// <summary>
/// A message of the socket after the handshake: it carries the handles of a call, which a frame names. Only on
/// connections whose sides have agreed on <see cref="Hello.HandlesFeature"/>. As long as a <see cref="FileNotice"/>.
/// <code>
/// offset  size  field
///      0     1  Type      3
///      1     1  Count     of the descriptors that come with it: 1 to 16
///      2     6  Zero      0
///      8     8  Number    of the sender's sets, from 1
/// </code>
/// </summary>
internal readonly record struct HandleNotice(long Number, int Count)
{
    public const byte Type = 3;

    /// <summary>The handles of one set.</summary>
    public const int MostHandles = 16;

    /// <exception cref="ProtocolException">A field is not allowed.</exception>
    public static HandleNotice Decode(ReadOnlySpan<byte> bytes)
    {
        var notice = new HandleNotice(BinaryPrimitives.ReadInt64LittleEndian(bytes[8..]), bytes[1]);
        bool isLegal = bytes[0] == Type
            && bytes[2..8].IndexOfAnyExcept((byte)0) < 0
            && notice.Number > 0
            && notice.Count is > 0 and <= MostHandles;
        return isLegal
            ? notice
            : throw new ProtocolException(
                $"The peer passed {notice.Count} handles with the number {notice.Number}; 1 to {MostHandles} come "
                + "together, and numbers begin with 1.");
    }

    public void Encode(Span<byte> bytes)
    {
        bytes[..8].Clear();
        bytes[0] = Type;
        bytes[1] = (byte)Count;
        BinaryPrimitives.WriteInt64LittleEndian(bytes[8..], Number);
    }
}
