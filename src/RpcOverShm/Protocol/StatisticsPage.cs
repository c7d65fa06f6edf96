using System.Runtime.InteropServices;
using RpcOverShm.Diagnostics;

namespace RpcOverShm.Protocol;

/// <summary>
/// A server's statistics at one moment: the content of the page that it shares with its own user's programs. The
/// content has no sequence number, which is the memory's.
/// </summary>
/// <param name="Time">The time of CLOCK_MONOTONIC, in nanoseconds.</param>
/// <param name="Connections">The number of open connections; the first of them have figures.</param>
/// <param name="Rows">The figures of connections.</param>
internal sealed record StatisticsPage(long Time, int Connections, IReadOnlyList<ConnectionStatistics> Rows)
{
    /// <summary>The bytes of a row of this build.</summary>
    public const int RowSize = StatisticsRow.SizeBytes + (LatencyCounts.CellCount * sizeof(long));

    /// <summary>The word in front of the content.</summary>
    private const int SequenceBytes = sizeof(long);

    private const int HeaderBytes = StatisticsHeader.SizeBytes - SequenceBytes;

    /// <summary>Returns the number of connections that a page has room for.</summary>
    public static int MostRows(int contentBytes) => (contentBytes - HeaderBytes) / RowSize;

    /// <summary>Encodes the content. Returns the part of the buffer that is used.</summary>
    public ReadOnlySpan<byte> Encode(byte[] buffer)
    {
        var header = new StatisticsHeader
        {
            Magic = StatisticsHeader.MagicValue,
            RowSize = RowSize,
            Rows = (uint)Math.Min(Rows.Count, MostRows(buffer.Length)),
            Connections = (uint)Connections,
            Time = Time,
        };
        Span<byte> whole = stackalloc byte[StatisticsHeader.SizeBytes];
        MemoryMarshal.Write(whole, in header);
        whole[SequenceBytes..].CopyTo(buffer);
        Span<byte> rest = buffer.AsSpan(HeaderBytes);
        foreach (ConnectionStatistics row in Rows.Take((int)header.Rows))
        {
            StatisticsRow figures = row.Figures;
            MemoryMarshal.Write(rest, in figures);
            MemoryMarshal.AsBytes(row.Latencies.AsSpan()).CopyTo(rest[StatisticsRow.SizeBytes..]);
            rest = rest[RowSize..];
        }

        return buffer.AsSpan(..^rest.Length);
    }

    /// <summary>Decodes the content of a page of any other process.</summary>
    /// <exception cref="ProtocolException">It is malformed.</exception>
    public static StatisticsPage Decode(ReadOnlySpan<byte> content)
    {
        Span<byte> whole = stackalloc byte[StatisticsHeader.SizeBytes];
        content[..HeaderBytes].CopyTo(whole[SequenceBytes..]);
        StatisticsHeader header = MemoryMarshal.Read<StatisticsHeader>(whole);
        ReadOnlySpan<byte> rest = content[HeaderBytes..];
        if (header.Magic != StatisticsHeader.MagicValue
            || header.RowSize < RowSize
            || header.RowSize % sizeof(long) != 0
            || header.Rows * (ulong)header.RowSize > (ulong)rest.Length
            || header.Connections > int.MaxValue)
        {
            throw new ProtocolException(
                $"Statistics of {header.Rows} rows of {header.RowSize} bytes with the magic number "
                + $"0x{header.Magic:X}; at most {rest.Length} bytes of rows of at least {RowSize} are allowed.");
        }

        var rows = new List<ConnectionStatistics>((int)header.Rows);
        for (; rows.Count < header.Rows; rest = rest[(int)header.RowSize..])
        {
            ReadOnlySpan<long> words = MemoryMarshal.Cast<byte, long>(rest[..RowSize]);
            if (words.IndexOfAnyInRange(long.MinValue, -1) >= 0)
            {
                throw new ProtocolException("Statistics with a negative number.");
            }

            rows.Add(new ConnectionStatistics(
                MemoryMarshal.Read<StatisticsRow>(rest),
                words[(StatisticsRow.SizeBytes / sizeof(long))..].ToArray()));
        }

        return new StatisticsPage(header.Time, (int)header.Connections, rows);
    }
}

/// <summary>The figures of a connection, and its latencies, one call in 64, counted in cells.</summary>
internal sealed record ConnectionStatistics(StatisticsRow Figures, long[] Latencies);
