namespace RpcOverShm.Perf.Recording;

/// <summary>The length and the order of a run's measurements: from the environment, else by default.</summary>
internal sealed class PerfSettings
{
    private const string SecondsVariable = "RPCOVERSHM_PERF_SECONDS";
    private const string SeedVariable = "RPCOVERSHM_PERF_SEED";
    private const string FullVariable = "RPCOVERSHM_PERF_FULL";
    private const string AssertVariable = "RPCOVERSHM_PERF_ASSERT";
    private const double DefaultSeconds = 0.7;
    private const double FewestSeconds = 0.1;
    private const double MostSeconds = 3600;

    // Fewer rounds would make the interval of a ratio meaningless. Slices of a fifth of a second hold enough calls of
    // every arm, so that longer runs have more rounds instead.
    private const int FewestRounds = 15;
    private const double LongestSlice = 0.2;

    /// <summary>The time of load before the clock starts in each slice, as a share of the slice.</summary>
    public const double LeadInShare = 0.1;

    private PerfSettings(double seconds, int seed)
    {
        SecondsPerRow = seconds;
        Seed = seed;
        Rounds = Math.Max(FewestRounds, (int)Math.Ceiling(seconds / LongestSlice));
        Slice = TimeSpan.FromSeconds(seconds / Rounds);
    }

    /// <summary>Seconds on the clock for each row, shared by its rounds.</summary>
    public double SecondsPerRow { get; }

    /// <summary>Decides the order of the arms within each round.</summary>
    public int Seed { get; }

    public int Rounds { get; }

    /// <summary>The time on the clock for one arm in one round.</summary>
    public TimeSpan Slice { get; }

    /// <summary>Whether the run measures all sizes and counts, regardless of the time.</summary>
    public static bool IsFull { get; } = IsSet(FullVariable);

    /// <summary>Whether a missed bar fails its test, instead of being reported only.</summary>
    public static bool AssertsBars { get; } = IsSet(AssertVariable);

    public static PerfSettings FromEnvironment()
    {
        double seconds = DefaultSeconds;
        if (Environment.GetEnvironmentVariable(SecondsVariable) is { Length: > 0 } text
            && (!double.TryParse(text, CultureInfo.InvariantCulture, out seconds)
                || seconds is not (>= FewestSeconds and <= MostSeconds)))
        {
            throw new InvalidOperationException(
                $"{SecondsVariable} is '{text}': {FewestSeconds} to {MostSeconds} seconds are allowed.");
        }

        int seed = Random.Shared.Next();
        if (Environment.GetEnvironmentVariable(SeedVariable) is { Length: > 0 } seedText
            && !int.TryParse(seedText, CultureInfo.InvariantCulture, out seed))
        {
            throw new InvalidOperationException($"{SeedVariable} is '{seedText}': a whole number is needed.");
        }

        return new PerfSettings(seconds, seed);
    }

    /// <summary>Reads a whole number from the environment, for a setting of one scenario.</summary>
    public static int NumberOf(string variable, int otherwise) =>
        Environment.GetEnvironmentVariable(variable) is not { Length: > 0 } text ? otherwise
        : int.TryParse(text, CultureInfo.InvariantCulture, out int number) && number > 0 ? number
        : throw new InvalidOperationException($"{variable} is '{text}': a whole number above 0 is needed.");

    private static bool IsSet(string variable) => Environment.GetEnvironmentVariable(variable) == "1";
}
