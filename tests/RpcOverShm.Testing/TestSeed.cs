using System.Globalization;

namespace RpcOverShm.Testing;

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
