namespace RpcOverShm.FunctionalTests.Sequences;

/// <summary>A call as two texts, with one letter per step of its method and of its client.</summary>
/// <param name="Shape">The shape of the method.</param>
/// <param name="Timeout">Milliseconds until the deadline; null for none.</param>
/// <param name="Server">The steps of the method; see <see cref="SequenceMethods"/>.</param>
/// <param name="Client">The steps of the client; see <see cref="SequenceCall"/>.</param>
internal sealed record CallSequence(MethodType Shape, int? Timeout, string Server, string Client)
{
    private const int MaxServerSteps = 4;
    private const int MaxClientSteps = 7;
    private const int ShortTimeout = 150;
    private const int LongTimeout = 3_600_000;
    private const string AnyStep = "sthpKd";
    private const string Writes = "wwvWc";
    private const string Reads = "rrRQ";

    // The ends of a method: o succeeds, s throws a status, x throws an exception, k waits for its token.
    private const string Ends = "oosssxk";

    public bool HasRequests => Shape is MethodType.ClientStreaming or MethodType.DuplexStreaming;

    public bool HasResponses => Shape is MethodType.ServerStreaming or MethodType.DuplexStreaming;

    /// <summary>Creates a random sequence.</summary>
    /// <param name="random">The source of randomness.</param>
    /// <param name="isPaused">Whether the client pauses before each step, which leaves few races.</param>
    public static CallSequence Next(Random random, bool isPaused)
    {
        MethodType shape = (MethodType)random.Next(4);
        int? timeout = random.Next(12) switch
        {
            0 => ShortTimeout,
            1 => -1,
            2 or 3 => LongTimeout,
            _ => null,
        };
        var whole = new CallSequence(shape, timeout, "", "");
        string ofServer = "hpt" + (whole.HasRequests ? "rr" : "") + (whole.HasResponses ? "mm" : "");
        string ofClient = AnyStep
            + (whole.HasRequests ? Writes : "")
            + (whole.HasResponses ? Reads : "a")
            + (timeout == ShortTimeout ? "x" : "");
        return whole with
        {
            Server = Pick(random, ofServer, random.Next(MaxServerSteps + 1)) + Pick(random, Ends, 1),
            Client = PickClient(random, ofClient, isPaused ? 0 : random.Next(3)),
        };
    }

    /// <summary>Returns the sequences that lack one of the steps.</summary>
    public IEnumerable<CallSequence> Shorter()
    {
        for (int i = 0; i < Client.Length; i++)
        {
            yield return this with { Client = Client.Remove(i, 1) };
        }

        for (int i = 0; i < Server.Length - 1; i++)
        {
            yield return this with { Server = Server.Remove(i, 1) };
        }
    }

    /// <summary>
    /// Inserts random pauses, so that each side is sometimes faster: none at first, then in the client, both or the
    /// method only.
    /// </summary>
    public CallSequence WithPauses(int repeat)
    {
        // Adjacent seeds produce similar numbers.
        var random = new Random(repeat * 7919);
        return repeat == 0
            ? this
            : this with
            {
                Client = repeat % 4 == 3 ? Client : Insert(random, Client, "p"),
                Server = repeat % 2 == 0 ? Server : Insert(random, Server, "P"),
            };
    }

    // Inserts no pause between a plus and its step.
    private static string Insert(Random random, string steps, string pause)
    {
        for (int i = steps.Length; i >= 0; i--)
        {
            bool isFree = i == 0 || steps[i - 1] != '+';
            steps = isFree && random.Next(2) == 0 ? steps.Insert(i, pause) : steps;
        }

        return steps;
    }

    // Kind 0 pauses before each step, kind 1 leaves some steps in flight, others do neither.
    private static string PickClient(Random random, string from, int kind)
    {
        string steps = Pick(random, from, 1 + random.Next(MaxClientSteps));
        return kind switch
        {
            0 => string.Concat(steps.Select(step => step == 'p' ? "p" : $"p{step}")),
            1 => string.Concat(steps.Select(step => random.Next(3) == 0 && step != 'p' ? $"+{step}" : $"{step}")),
            _ => steps,
        };
    }

    private static string Pick(Random random, string from, int count) => string.Concat(
        Enumerable.Range(0, count).Select(_ => from[random.Next(from.Length)]));
}
