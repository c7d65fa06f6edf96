using System.Buffers.Binary;

namespace RpcOverShm.Protocol;

/// <summary>
/// What one side announces of itself in its hello. Checked once when it arrives (<see cref="Check"/>), then kept in
/// private memory and never read again from anywhere the peer can write.
/// </summary>
/// <param name="RingCapacity">Bytes of the ring that the sender writes: a power of two, 64 KiB to 1 GiB.</param>
/// <param name="CallWindow">Bytes of messages that the sender takes per call before it has given credit.</param>
/// <param name="MaxCalls">How many calls at a time the sender takes from its peer; 0 is none.</param>
/// <param name="MaxMetadataBytes">Bytes of metadata that the sender takes in one block.</param>
internal readonly record struct PeerLimits(long RingCapacity, uint CallWindow, uint MaxCalls, uint MaxMetadataBytes)
{
    /// <summary>One more than the largest number that a call id can hold.</summary>
    public const uint CallsPerConnection = CallId.SlotCount;

    /// <summary>
    /// The smallest window lets the largest chunk pass whole, or a message could wait for itself for ever.
    /// </summary>
    public const uint SmallestCallWindow = 64 << 10;

    public const uint LargestCallWindow = 1 << 30;

    public const uint LargestMetadata = 16 << 20;

    public static PeerLimits Decode(ReadOnlySpan<byte> bytes) => new(
        BinaryPrimitives.ReadInt64LittleEndian(bytes),
        BinaryPrimitives.ReadUInt32LittleEndian(bytes[8..]),
        BinaryPrimitives.ReadUInt32LittleEndian(bytes[12..]),
        BinaryPrimitives.ReadUInt32LittleEndian(bytes[16..]));

    public void Encode(Span<byte> bytes)
    {
        BinaryPrimitives.WriteInt64LittleEndian(bytes, RingCapacity);
        BinaryPrimitives.WriteUInt32LittleEndian(bytes[8..], CallWindow);
        BinaryPrimitives.WriteUInt32LittleEndian(bytes[12..], MaxCalls);
        BinaryPrimitives.WriteUInt32LittleEndian(bytes[16..], MaxMetadataBytes);
    }

    /// <summary>Null when the limits can be lived with, else what is wrong with them.</summary>
    public string? Check() =>
        CallWindow is < SmallestCallWindow or > LargestCallWindow
            ? $"a call window of {CallWindow} bytes; {SmallestCallWindow} to {LargestCallWindow} are allowed"
            : MaxCalls > CallsPerConnection
                ? $"{MaxCalls} calls at a time; at most {CallsPerConnection} can be told apart"
                : MaxMetadataBytes > LargestMetadata
                    ? $"{MaxMetadataBytes} bytes of metadata; at most {LargestMetadata} are allowed"
                    : null;
}
