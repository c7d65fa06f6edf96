using System.Globalization;

namespace RpcOverShm.Testing;

/// <summary>
/// The number of random inputs of a test: the test's usual count, or the value of <c>RPCOVERSHM_FUZZ_COUNT</c>.
/// </summary>
public static class FuzzInputs
{
    private const string CountVariable = "RPCOVERSHM_FUZZ_COUNT";

    public static int Count(int usual) =>
        int.TryParse(Environment.GetEnvironmentVariable(CountVariable), CultureInfo.InvariantCulture, out int count)
            ? count
            : usual;

    /// <summary>
    /// Returns the input numbers. Renews the hang watchdog's time limit after each usual count of inputs, so that a
    /// long run is not ended for its length, but a hang in it is found as soon as in a short run.
    /// </summary>
    public static IEnumerable<int> Numbers(int usual)
    {
        int count = Count(usual);
        for (int i = 0; i < count; i++)
        {
            if (i > 0 && i % usual == 0)
            {
                HangWatchdog.Renew();
            }

            yield return i;
        }
    }
}

/// <summary>The seeds of random tests. Each test prints its seed; <c>RPCOVERSHM_TEST_SEED</c> repeats a run.</summary>
public static class TestSeed
{
    private const string Variable = "RPCOVERSHM_TEST_SEED";

    /// <summary>Returns a new seed, or the one that the environment sets, and prints it.</summary>
    public static int Next()
    {
        string? asked = Environment.GetEnvironmentVariable(Variable);
        int seed = int.TryParse(asked, CultureInfo.InvariantCulture, out int given) ? given : Random.Shared.Next();
        Console.WriteLine($"Seed {seed}; set {Variable} to it to repeat the run.");
        return seed;
    }

    /// <summary>Returns a random number generator with a printed seed.</summary>
    public static Random NewRandom() => new(Next());
}
