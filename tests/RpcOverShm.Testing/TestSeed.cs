using System.Globalization;

namespace RpcOverShm.Testing;

/// <summary>
/// The seeds of random tests. Each is printed with the test that used it; a run is repeated by setting
/// <c>RPCOVERSHM_TEST_SEED</c> to it.
/// </summary>
public static class TestSeed
{
    private const string Variable = "RPCOVERSHM_TEST_SEED";

    /// <summary>A new seed, or the one that was asked for; printed to the test's output.</summary>
    public static int Next()
    {
        string? asked = Environment.GetEnvironmentVariable(Variable);
        int seed = int.TryParse(asked, CultureInfo.InvariantCulture, out int given) ? given : Random.Shared.Next();
        Console.WriteLine($"Seed {seed}; set {Variable} to it to repeat the run.");
        return seed;
    }

    /// <summary>A source of random numbers with a seed of its own.</summary>
    public static Random NewRandom() => new(Next());
}
