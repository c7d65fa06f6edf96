using System.Buffers.Binary;

namespace RpcOverShm.Protocol;

/// <summary>
/// The limits that one side, called "this side" here, announces in its hello. They are checked once on arrival
/// (<see cref="Check"/>) and then kept in private memory, never read again from memory that the peer can write.
/// </summary>
/// <param name="RingCapacity">Bytes of the ring that this side writes: a power of two, 64 KiB to 1 GiB.</param>
/// <param name="CallWindow">Bytes of messages that this side accepts per call before it grants credit.</param>
/// <param name="MaxCalls">Concurrent calls that this side accepts from its peer; 0 means none.</param>
/// <param name="MaxMetadataBytes">Bytes of metadata that this side accepts in one block.</param>
internal readonly record struct PeerLimits(long RingCapacity, uint CallWindow, uint MaxCalls, uint MaxMetadataBytes)
{
    /// <summary>The number of bytes of the encoded limits.</summary>
    public const int SizeBytes = 24;

    /// <summary>The number of slots that a call id can express.</summary>
    public const uint CallsPerConnection = CallId.SlotCount;

    /// <summary>More than the largest part (32 KiB), so that a whole part fits into an unused window.</summary>
    public const uint SmallestCallWindow = 64 << 10;

    public const uint LargestCallWindow = 1 << 30;

    public const uint LargestMetadata = 16 << 20;

    /// <summary>
    /// Calls of its peer that this side runs at a time, while others wait; 0 if it does not tell. Only the texts of
    /// failures depend on it.
    /// </summary>
    public uint MaxRunning { get; init; }

    /// <summary>The cost of the one-way calls of a connection, all together, from which on no more may start.</summary>
    public uint OneWayWindow => CallWindow;

    public static PeerLimits Decode(ReadOnlySpan<byte> bytes) => new(
        BinaryPrimitives.ReadInt64LittleEndian(bytes),
        BinaryPrimitives.ReadUInt32LittleEndian(bytes[8..]),
        BinaryPrimitives.ReadUInt32LittleEndian(bytes[12..]),
        BinaryPrimitives.ReadUInt32LittleEndian(bytes[16..]))
    {
        MaxRunning = BinaryPrimitives.ReadUInt32LittleEndian(bytes[20..]),
    };

    public void Encode(Span<byte> bytes)
    {
        BinaryPrimitives.WriteInt64LittleEndian(bytes, RingCapacity);
        BinaryPrimitives.WriteUInt32LittleEndian(bytes[8..], CallWindow);
        BinaryPrimitives.WriteUInt32LittleEndian(bytes[12..], MaxCalls);
        BinaryPrimitives.WriteUInt32LittleEndian(bytes[16..], MaxMetadataBytes);
        BinaryPrimitives.WriteUInt32LittleEndian(bytes[20..], MaxRunning);
    }

    /// <summary>Checks all limits but the ring's. Returns null if they are acceptable, otherwise the reason.</summary>
    public string? Check() =>
        CallWindow is < SmallestCallWindow or > LargestCallWindow
            ? $"a call window of {CallWindow} bytes; {SmallestCallWindow} to {LargestCallWindow} are allowed"
            : MaxCalls > CallsPerConnection
                ? $"{MaxCalls} calls at a time; at most {CallsPerConnection} can be told apart"
                : MaxMetadataBytes > LargestMetadata
                    ? $"{MaxMetadataBytes} bytes of metadata; at most {LargestMetadata} are allowed"
                    : null;
}
