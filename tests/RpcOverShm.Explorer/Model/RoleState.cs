namespace RpcOverShm.Explorer.Model;

/// <summary>
/// One role in one state of the search. Its code is deterministic, so the results of its steps so far stand for its
/// local variables; the fingerprint stands for those, and for the private fields at its last checkpoint.
/// </summary>
internal sealed record RoleState(LogEntry? Log, ulong Fingerprint, Op Pending, BufferedStore[] Buffer)
{
    public static readonly RoleState Initial = new(null, 0, default, []);

    public bool IsAsleep { get; init; }

    /// <summary>The violation with which the role ended.</summary>
    public string? Failure { get; init; }

    public bool IsOver => Pending.Kind is OpKind.Done or OpKind.Failed;
}

/// <summary>The result of a role's step, and the memory at that moment.</summary>
internal sealed record LogEntry(LogEntry? Previous, long Result, long[] Memory, bool IsPlain)
{
    public int Count { get; } = 1 + (Previous?.Count ?? 0);
}
