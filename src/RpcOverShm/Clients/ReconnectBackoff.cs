namespace RpcOverShm.Clients;

/// <summary>
/// The pauses between attempts to connect: gRPC's connection back-off (multiplier 1.6, jitter of 20 % either
/// way; see doc/connection-backoff.md of gRPC), with times that suit one machine. A value without state.
/// </summary>
/// <param name="Initial">The pause after the first failure, above zero.</param>
/// <param name="Longest">The longest pause before the jitter, at least <paramref name="Initial"/>.</param>
internal readonly record struct ReconnectBackoff(TimeSpan Initial, TimeSpan Longest)
{
    private const double Multiplier = 1.6;
    private const double Jitter = 0.2;

    /// <summary>Returns the pause after a number of consecutive failures.</summary>
    public TimeSpan After(int failures, double random)
    {
        double grown = Initial.TotalMilliseconds * Math.Pow(Multiplier, failures - 1);
        double bounded = Math.Min(grown, Longest.TotalMilliseconds);
        return TimeSpan.FromMilliseconds(bounded * (1 - Jitter + (2 * Jitter * random)));
    }
}
