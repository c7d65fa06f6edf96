namespace RpcOverShm.FunctionalTests.Sequences;

/// <summary>
/// Runs one sequence on all rigs. If a step's result occurs on shared memory only, the sequence is repeated on all rigs
/// with longer pauses until another rig has produced it too: then a race decides the result. The other rigs get extra
/// random pauses, because their steps take a hundred microseconds longer.
/// </summary>
/// <param name="ours">The client over shared memory.</param>
/// <param name="others">Clients over gRPC.</param>
/// <param name="isStrict">Whether every result must occur on another rig, or only the frequent ones.</param>
internal sealed class SequenceComparison(ScriptClient ours, IReadOnlyList<ScriptClient> others, bool isStrict)
{
    private const int MaxRepeats = 50;
    private const int RepeatsToShorten = 10;
    private const int LongestPause = 4;

    private static readonly TimeSpan s_pause = TimeSpan.FromMilliseconds(15);

    /// <summary>Returns the shortest sequence that still differs and its results; null if nothing differs.</summary>
    public async Task<string?> FindDifferenceAsync(CallSequence sequence)
    {
        string? difference = await CompareAsync(sequence, MaxRepeats);
        if (difference is not null)
        {
            // A machine that is starved for a moment may delay one rig and not the others. A defect differs again.
            difference = await CompareAsync(sequence, MaxRepeats);
        }

        string? shorter = difference;
        while (shorter is not null)
        {
            difference = shorter;
            shorter = null;
            foreach (CallSequence candidate in sequence.Shorter())
            {
                shorter = await CompareAsync(candidate, RepeatsToShorten);
                if (shorter is not null)
                {
                    sequence = candidate;
                    break;
                }
            }
        }

        return difference;
    }

    private async Task<string?> CompareAsync(CallSequence sequence, int repeats)
    {
        var seenHere = new List<string[]>();
        var seenThere = new List<string[]>();
        for (int repeat = 0; repeat <= repeats; repeat++)
        {
            TimeSpan pause = s_pause * (1 + (repeat % LongestPause));
            Task<string[]> here = SequenceCall.RunAsync(ours, sequence, pause);
            CallSequence there = sequence.WithPauses(repeat);
            seenThere.AddRange(
                await Task.WhenAll(others.Select(other => SequenceCall.RunAsync(other, there, pause))));
            seenHere.Add(await here);
            if (seenHere.All(seen => IsAmong(seen, seenThere)))
            {
                return null;
            }
        }

        // A rare result of a race may not occur on the other rigs in so few runs; a frequent one must.
        int odd = seenHere.Count(seen => !IsAmong(seen, seenThere));
        bool isRare = odd * 2 < seenHere.Count;
        return isRare && !isStrict ? null : $"{sequence}: {odd} of {seenHere.Count} differ.\n"
            + $"  here:  {Describe(seenHere)}\n  there: {Describe(seenThere)}\n";
    }

    private static bool IsAmong(string[] seen, List<string[]> others) =>
        seen.Index().All(step => others.Any(other => other[step.Index] == step.Item));

    private static string Describe(IEnumerable<string[]> seen) => string.Join("\n         ", seen
        .Select(steps => string.Join("; ", steps))
        .CountBy(steps => steps)
        .OrderByDescending(pair => pair.Value)
        .Select(pair => $"{pair.Value} times {pair.Key}"));
}
