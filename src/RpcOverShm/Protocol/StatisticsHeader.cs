using System.Runtime.InteropServices;

namespace RpcOverShm.Protocol;

/// <summary>The beginning of the page with a server's statistics, as PROTOCOL.md has it.</summary>
[StructLayout(LayoutKind.Explicit, Size = SizeBytes)]
internal struct StatisticsHeader
{
    /// <summary>The room of the header; rows begin behind it.</summary>
    public const int SizeBytes = 64;

    /// <summary>The bytes "RPCOSTA" and the layout's number, in memory order.</summary>
    public const ulong MagicValue = 0x01_41_54_53_4F_43_50_52;

    /// <summary>Odd while the server writes the page. The memory has its own way to write this word.</summary>
    [FieldOffset(0)]
    public long Sequence;

    [FieldOffset(8)]
    public ulong Magic;

    /// <summary>The bytes of a row.</summary>
    [FieldOffset(16)]
    public uint RowSize;

    /// <summary>The number of rows.</summary>
    [FieldOffset(20)]
    public uint Rows;

    /// <summary>The number of open connections, of which the first have rows.</summary>
    [FieldOffset(24)]
    public uint Connections;

    /// <summary>The time of the write, of CLOCK_MONOTONIC in nanoseconds.</summary>
    [FieldOffset(32)]
    public long Time;
}
