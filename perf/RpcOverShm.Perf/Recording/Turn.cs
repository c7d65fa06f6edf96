namespace RpcOverShm.Perf.Recording;

/// <summary>A load that takes its turn in every round, for scenarios whose loads are not cells of one plan.</summary>
/// <param name="Label">The name of its results.</param>
/// <param name="Pair">The running processes that carry it.</param>
/// <param name="Orders">The work of the first client, the second, and so on.</param>
internal sealed record Turn(string Label, ArmPair Pair, params IReadOnlyList<LoadOrder> Orders)
{
    /// <summary>
    /// Runs all loads once in each round, in an order that is shuffled anew for each. Every byte must be right.
    /// </summary>
    /// <param name="turns">The loads.</param>
    /// <param name="settings">The seed.</param>
    /// <param name="rounds">The rounds that count.</param>
    /// <param name="warmUps">The rounds before them.</param>
    public static async Task<Dictionary<string, List<SliceResult>>> TakeAllAsync(
        IEnumerable<Turn> turns, PerfSettings settings, int rounds, int warmUps)
    {
        Turn[] shuffled = [.. turns];
        var order = new Random(settings.Seed);
        var found = shuffled.ToDictionary(turn => turn.Label, _ => new List<SliceResult>());
        for (int round = -warmUps; round < rounds; round++)
        {
            order.Shuffle(shuffled);
            foreach (Turn turn in shuffled)
            {
                SliceResult slice = await turn.Pair.RunAsync(turn.Orders);
                Assert.That(slice.Problem(), Is.Null, turn.Label);
                if (round >= 0)
                {
                    found[turn.Label].Add(slice);
                }
            }
        }

        return found;
    }
}
