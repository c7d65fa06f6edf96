using System.Numerics;

namespace RpcOverShm.Diagnostics;

/// <summary>
/// Counts latencies in cells that are at most a quarter of their value wide: four for each power of two. Thread-safe.
/// </summary>
internal sealed class LatencyCounts
{
    /// <summary>The number of cells, from a quarter of a microsecond to 4.3 s and beyond.</summary>
    public const int CellCount = 96;

    private const int CellBits = 2;
    private const int LowestPower = 8; // 256 ns

    private readonly long[] _cells = new long[CellCount];

    /// <summary>Counts one latency.</summary>
    public void Add(TimeSpan latency) => Interlocked.Increment(ref _cells[CellOf((long)latency.TotalNanoseconds)]);

    /// <summary>Copies the counts. Concurrent changes may be missing.</summary>
    public void CopyTo(Span<long> cells) => _cells.CopyTo(cells);

    /// <summary>Returns the cell of a latency.</summary>
    public static int CellOf(long nanoseconds)
    {
        if (nanoseconds < 1 << LowestPower)
        {
            return 0;
        }

        int power = BitOperations.Log2((ulong)nanoseconds);
        int part = (int)(nanoseconds >> (power - CellBits)) & ((1 << CellBits) - 1);
        return Math.Min(((power - LowestPower) << CellBits) + part, CellCount - 1);
    }

    /// <summary>Returns the middle of a cell, in nanoseconds.</summary>
    public static double MiddleOf(int cell)
    {
        double width = Math.Pow(2, LowestPower + (cell >> CellBits) - CellBits);
        return (width * ((1 << CellBits) + (cell & ((1 << CellBits) - 1)))) + (width / 2);
    }
}
