using System.Buffers.Binary;
using RpcOverShm.Protocol;

namespace RpcOverShm.Fuzz.Frames;

/// <summary>
/// One step of an input for <see cref="FrameTarget"/>: a frame of the hostile peer, or, for kinds from
/// <see cref="FirstAction"/> on, an action of this side's user.
/// <code>
/// u8 kind   u8 flags   u8 call   u8 bytes of head, 255 for all   u16 argument   u16 bytes of payload, then the payload
/// </code>
/// </summary>
internal readonly ref struct Step
{
    public const byte FirstAction = 0xF0;

    public const int HeaderBytes = 8;

    // The id of frames for the connection; every other value names a call.
    private const byte NoCall = 0xFF;

    private Step(ReadOnlySpan<byte> header, ReadOnlySpan<byte> payload)
    {
        Kind = header[0];
        Flags = header[1];
        Call = IdOf(header[2]);
        HeadBytes = header[3] == byte.MaxValue ? (ushort)payload.Length : header[3];
        ushort argument = BinaryPrimitives.ReadUInt16LittleEndian(header[4..]);
        Argument = (uint)((argument & 0xFFFuL) << (2 * (argument >> 12)));
        Payload = payload;
    }

    public byte Kind { get; }

    public byte Flags { get; }

    public CallId Call { get; }

    public ushort HeadBytes { get; }

    public uint Argument { get; }

    public ReadOnlySpan<byte> Payload { get; }

    public bool IsAction => Kind >= FirstAction;

    /// <summary>Takes the next step off the input. Returns false at its end.</summary>
    public static bool TryTake(ref ReadOnlySpan<byte> input, int mostPayloadBytes, out Step step)
    {
        if (input.Length < HeaderBytes)
        {
            step = default;
            return false;
        }

        int length = Math.Min(BinaryPrimitives.ReadUInt16LittleEndian(input[6..]), mostPayloadBytes);
        length = Math.Min(length, input.Length - HeaderBytes);
        step = new Step(input, input.Slice(HeaderBytes, length));
        input = input[(HeaderBytes + length)..];
        return true;
    }

    /// <summary>Returns the bytes of a step, for seeds. The argument must be below 4096.</summary>
    public static byte[] Of(
        FrameKind kind,
        FrameFlags flags = FrameFlags.None,
        byte call = NoCall,
        ReadOnlySpan<byte> head = default,
        ReadOnlySpan<byte> body = default,
        ushort argument = 0)
    {
        byte[] header = [(byte)kind, (byte)flags, call, (byte)head.Length, 0, 0, 0, 0];
        BinaryPrimitives.WriteUInt16LittleEndian(header.AsSpan(4), argument);
        BinaryPrimitives.WriteUInt16LittleEndian(header.AsSpan(6), (ushort)(head.Length + body.Length));
        return [.. header, .. head, .. body];
    }

    /// <summary>Returns the byte for a call, for seeds.</summary>
    public static byte CallOf(int slot, int generation = 1) => (byte)(slot | (generation << 3));

    private static CallId IdOf(byte value) => value == NoCall
        ? CallId.None
        : new CallId((value & 7) + ((value & 0x80) == 0 ? 0 : 60_000), (uint)(value >> 3) & 7, (value & 0x40) != 0);
}
