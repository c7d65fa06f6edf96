namespace RpcOverShm.FunctionalTests.RandomEnds;

/// <summary>Random calls of many threads.</summary>
internal static class RandomLoad
{
    public const int Calls = Threads * CallsPerThread;

    private const int Threads = 16;
    private const int CallsPerThread = 625;

    /// <summary>Makes the calls; returns when all have ended.</summary>
    public static CallNotes Run(ScriptClient client)
    {
        int seed = TestSeed.Next();
        var notes = new CallNotes();
        RandomCaller[] callers =
            [.. Enumerable.Range(0, Threads).Select(i => new RandomCaller(client, new Random(seed + i), notes))];
        TestThread[] threads =
        [
            .. callers.Select((caller, i) => TestThread.Start($"caller {i}", () => caller.MakeCalls(CallsPerThread))),
        ];
        try
        {
            foreach (TestThread thread in threads)
            {
                thread.Join();
            }
        }
        catch (TimeoutException exception)
        {
            IEnumerable<string> plans = callers.Zip(threads).Where(pair => pair.Second.IsAlive)
                .Select(pair => $"{pair.First.Current}");
            throw new TimeoutException($"These calls have not ended: {string.Join("; ", plans)}", exception);
        }

        return notes;
    }
}
