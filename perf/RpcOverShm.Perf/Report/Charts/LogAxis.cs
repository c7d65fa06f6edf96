namespace RpcOverShm.Perf.Report.Charts;

/// <summary>Maps values to pixels so that equal ratios are equal distances.</summary>
internal sealed class LogAxis
{
    private readonly double _logLow;
    private readonly double _logHigh;
    private readonly double _start;
    private readonly double _end;

    private LogAxis(double low, double high, double start, double end)
    {
        _logLow = Math.Log10(low);
        _logHigh = Math.Log10(high);
        _start = start;
        _end = end;
    }

    /// <summary>The values with a line and a number.</summary>
    public required IReadOnlyList<double> Ticks { get; init; }

    /// <summary>An axis that ends at powers of ten, one tick each.</summary>
    public static LogAxis Decades(IEnumerable<double> values, double start, double end)
    {
        double[] all = [.. values];
        int low = (int)Math.Floor(Math.Log10(all.Min()));
        int high = Math.Max(low + 1, (int)Math.Ceiling(Math.Log10(all.Max())));
        return new LogAxis(Math.Pow(10, low), Math.Pow(10, high), start, end)
        {
            Ticks = [.. Enumerable.Range(low, high - low + 1).Select(power => Math.Pow(10, power))],
        };
    }

    /// <summary>
    /// An axis with a tick at the first and the last value, and at every other one that is not too close to its
    /// neighbours.
    /// </summary>
    public static LogAxis Values(IEnumerable<double> values, double start, double end)
    {
        const double pixelsApart = 52;
        double[] all = [.. values.Distinct().Order()];
        double low = all[0];
        double high = all[^1] > low ? all[^1] : low * 2;
        var ticks = new List<double>();
        var axis = new LogAxis(low, high, start, end) { Ticks = ticks };
        bool IsFar(double value, double other) => Math.Abs(axis.At(value) - axis.At(other)) >= pixelsApart;

        ticks.Add(low);
        foreach (double value in all.Where(value => value > low && value < high))
        {
            if (IsFar(value, ticks[^1]) && IsFar(value, high))
            {
                ticks.Add(value);
            }
        }

        if (all[^1] > low)
        {
            ticks.Add(high);
        }

        return axis;
    }

    public double At(double value) =>
        _start + ((Math.Log10(value) - _logLow) / (_logHigh - _logLow) * (_end - _start));
}
