namespace RpcOverShm.Perf.Recording;

/// <summary>
/// One arm's time compared with another's: the median of the ratios within each round, because a disturbance of a whole
/// round slows both arms, and its 95 % interval by bootstrap.
/// </summary>
/// <param name="Median">Below 1 is faster.</param>
/// <param name="Low">The lower end of the interval.</param>
/// <param name="High">Its upper end.</param>
/// <param name="Won">The number of rounds in which the arm was the faster one.</param>
/// <param name="Rounds">The number of all rounds.</param>
internal sealed record Ratio(double Median, double Low, double High, int Won, int Rounds)
{
    private const int Resamples = 2000;

    // A fixed seed: the interval depends on the measurements alone.
    private const int ResamplingSeed = 20_2607;

    /// <param name="times">The arm's time of each round.</param>
    /// <param name="baseline">The other arm's, of the same rounds.</param>
    public static Ratio Of(IReadOnlyList<double> times, IReadOnlyList<double> baseline)
    {
        if (times.Count != baseline.Count || times.Count == 0)
        {
            throw new ArgumentException(
                $"{times.Count} rounds cannot be compared with {baseline.Count}.", nameof(times));
        }

        double[] ratios = [.. times.Zip(baseline, (time, other) => time / other)];
        double[] medians = Resample(ratios);
        return new Ratio(
            MedianOf(ratios),
            medians[(int)(Resamples * 0.025)],
            medians[(int)(Resamples * 0.975) - 1],
            ratios.Count(ratio => ratio < 1),
            ratios.Length);
    }

    /// <summary>A value that was measured once, without an interval.</summary>
    public static Ratio Single(double value) => new(value, value, value, 0, 1);

    public static double MedianOf(IEnumerable<double> values)
    {
        double[] sorted = [.. values.Order()];
        int middle = sorted.Length / 2;
        return sorted.Length % 2 == 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
    }

    private static double[] Resample(double[] ratios)
    {
        var random = new Random(ResamplingSeed);
        double[] sample = new double[ratios.Length];
        double[] medians = new double[Resamples];
        for (int i = 0; i < Resamples; i++)
        {
            for (int j = 0; j < sample.Length; j++)
            {
                sample[j] = ratios[random.Next(ratios.Length)];
            }

            medians[i] = MedianOf(sample);
        }

        Array.Sort(medians);
        return medians;
    }
}
