namespace RpcOverShm.Explorer.Model;

/// <summary>
/// The processes, their roles and their faults: the search visits every schedule of them. Process 0 is A, process 1 is
/// B.
/// </summary>
internal sealed record Scenario(string Name, int Capacity, params RoleSpec[] Roles)
{
    /// <summary>Bytes of the second ring of each segment, whose memory is there as soon as it is wanted.</summary>
    public int SecondCapacity { get; init; }

    /// <summary>Whether process 0 publishes a topic and the others subscribe to it.</summary>
    public bool HasTopic { get; init; }

    /// <summary>Whether roles read the words that local events change.</summary>
    public bool HasEvents { get; init; }

    /// <summary>Whether shipped code copies payload itself, at the moment of its last step.</summary>
    public bool HasRawReads { get; init; }

    /// <summary>
    /// Whether a sleep compares no shared word, but returns if a wake-up came before it: a doorbell of a kind that
    /// other systems have. The rules of the rings hold without the comparison of the futex.
    /// </summary>
    public bool HasBells { get; init; }

    /// <summary>The process that may die at any step; -1 for none.</summary>
    public int Mortal { get; init; } = -1;

    /// <summary>The number of sleeps that may end without a reason.</summary>
    public int SpuriousWakes { get; init; }

    /// <summary>The number of words that the hostile side changes behind the back of its own code.</summary>
    public int Pokes { get; init; }

    /// <summary>Whether a role may sleep for ever at the end: a hostile side may always withhold a wake-up.</summary>
    public bool MaySleep { get; init; }

    /// <summary>The values that the hostile side may store into a location, given the present one.</summary>
    public Func<int, long, IEnumerable<long>>? Lies { get; init; }

    /// <summary>The rule that holds once nothing can happen any more; returns what is wrong, or null.</summary>
    public Func<FinalState, string?> AtEnd { get; init; } = _ => null;
}

/// <summary>One thread of a process and its code.</summary>
internal sealed record RoleSpec(string Name, int Process, Action<RoleContext> Program);

/// <summary>A state in which nothing can happen any more.</summary>
internal readonly struct FinalState(State state)
{
    public long Word(int segment, int word) => state.Memory[MemoryMap.Word(segment, word)];

    public long Private(int process, int word) => state.Memory[MemoryMap.Private(process, word)];

    public bool IsDead(int process) => state.Dead == process;

    public bool IsOver(int role) => state.Roles[role].Pending.Kind == OpKind.Done;

    public long Result(int role) => state.Roles[role].Pending.Value;
}
