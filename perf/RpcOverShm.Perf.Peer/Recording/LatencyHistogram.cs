using System.Numerics;

namespace RpcOverShm.Perf.Peer.Recording;

/// <summary>
/// Counts times of any size with a relative error below 0.4 %: each power of two is cut into 256 equal cells, and the
/// values below 256 have a cell each. Recording costs a few nanoseconds and never allocates. One thread records at a
/// time; histograms of several threads, rounds or processes are merged afterwards. The unit is up to the caller.
/// </summary>
internal sealed class LatencyHistogram
{
    // 2^8 cells for each power of two: a cell is at most 1/256 of its value wide.
    private const int CellBits = 8;
    private const int CellsPerPower = 1 << CellBits;

    // 2^40 ns are 18 minutes. Longer times count in the last cell; the mean and the maximum stay exact.
    private const int LargestPower = 40;
    private const int CellCount = (LargestPower - CellBits + 1) * CellsPerPower;

    private readonly long[] _counts = new long[CellCount];

    /// <summary>The number of recorded values.</summary>
    public long Count { get; private set; }

    /// <summary>The sum of all values, exact.</summary>
    public long Sum { get; private set; }

    /// <summary>The largest value, exact; 0 when there is none.</summary>
    public long Max { get; private set; }

    /// <summary>The arithmetic mean, exact; 0 when nothing was recorded.</summary>
    public double Mean => Count == 0 ? 0 : (double)Sum / Count;

    /// <summary>The smallest value, to the width of its cell; 0 when nothing was recorded.</summary>
    public double Lowest => ValueAt(0);

    /// <summary>The standard deviation, to the width of the cells.</summary>
    public double Deviation
    {
        get
        {
            double squares = 0;
            for (int i = 0; i < CellCount; i++)
            {
                double distance = MiddleOf(i) - Mean;
                squares += _counts[i] == 0 ? 0 : _counts[i] * distance * distance;
            }

            return Count == 0 ? 0 : Math.Sqrt(squares / Count);
        }
    }

    /// <summary>Records one value. A negative one, which a monotonic clock never has, counts as 0.</summary>
    public void Record(long value) => Record(value, 1);

    /// <summary>Records a value that stands for several events.</summary>
    public void Record(long value, long times)
    {
        value = Math.Max(value, 0);
        _counts[CellOf(value)] += times;
        Count += times;
        Sum += value * times;
        Max = Math.Max(Max, value);
    }

    /// <summary>Adds all that another histogram has recorded.</summary>
    public void Merge(LatencyHistogram other)
    {
        for (int i = 0; i < CellCount; i++)
        {
            _counts[i] += other._counts[i];
        }

        Count += other.Count;
        Sum += other.Sum;
        Max = Math.Max(Max, other.Max);
    }

    /// <summary>
    /// Returns the value that the given share of all values do not exceed: the middle of its cell, and never more than
    /// <see cref="Max"/>. 0 when nothing was recorded.
    /// </summary>
    /// <param name="share">0 to 1: 0.5 is the median.</param>
    public double ValueAt(double share)
    {
        long rank = Math.Clamp((long)Math.Ceiling(share * Count), 1, Math.Max(1, Count));
        long seen = 0;
        for (int i = 0; i < CellCount; i++)
        {
            seen += _counts[i];
            if (seen >= rank)
            {
                return Math.Min(MiddleOf(i), Max);
            }
        }

        return 0;
    }

    /// <summary>Writes the histogram for another process: its sums, and the cells that are not empty.</summary>
    public void Write(LineWriter line)
    {
        line.Add(Count).Add(Sum).Add(Max).Add(_counts.Count(count => count != 0));
        for (int i = 0; i < CellCount; i++)
        {
            if (_counts[i] != 0)
            {
                line.Add(i).Add(_counts[i]);
            }
        }
    }

    /// <summary>Reads what <see cref="Write"/> of the other process has written.</summary>
    public static LatencyHistogram Read(LineReader line)
    {
        var histogram = new LatencyHistogram
        {
            Count = line.NextNumber(),
            Sum = line.NextNumber(),
            Max = line.NextNumber(),
        };
        for (long cells = line.NextNumber(); cells > 0; cells--)
        {
            long cell = line.NextNumber();
            histogram._counts[cell] = line.NextNumber();
        }

        return histogram;
    }

    // The value is shifted until CellBits + 1 bits are left. The top one of these is always 1 and adds one to the
    // power, so that the cells of all powers follow one another without a gap.
    private static int CellOf(long value)
    {
        int shift = Math.Max(0, BitOperations.Log2((ulong)value | 1) - CellBits);
        long cell = ((long)shift << CellBits) + (value >> shift);
        return (int)Math.Min(cell, CellCount - 1);
    }

    private static double MiddleOf(int cell)
    {
        int shift = Math.Max(0, (cell >> CellBits) - 1);
        long low = ((long)cell - ((long)shift << CellBits)) << shift;
        return low + (((1L << shift) - 1) / 2.0);
    }
}
