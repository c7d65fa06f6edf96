namespace RpcOverShm.Clients;

/// <summary>
/// How long to wait between attempts to connect: gRPC's connection back-off (multiplier 1.6, jitter of a fifth either
/// way; doc/connection-backoff.md of gRPC), with times for one machine. A value without state.
/// </summary>
/// <param name="Initial">After the first failure. Above zero.</param>
/// <param name="Longest">At most, before the jitter. Not below the initial one.</param>
internal readonly record struct ReconnectBackoff(TimeSpan Initial, TimeSpan Longest)
{
    private const double Multiplier = 1.6;
    private const double Jitter = 0.2;

    /// <summary>The pause after so many failures in a row.</summary>
    /// <param name="failures">1 or more.</param>
    /// <param name="random">A random number from 0 up to 1, without it.</param>
    public TimeSpan After(int failures, double random)
    {
        double grown = Initial.TotalMilliseconds * Math.Pow(Multiplier, failures - 1);
        double bounded = Math.Min(grown, Longest.TotalMilliseconds);
        return TimeSpan.FromMilliseconds(bounded * (1 - Jitter + (2 * Jitter * random)));
    }
}
