using RpcOverShm.Scheduling;

namespace RpcOverShm.Connections;

/// <summary>
/// What a blocking caller holds from before it sends until it leaves: the reader role, or a place among the callers
/// that wait for it, or nothing any more.
/// </summary>
internal struct CallerTurn
{
    public ReaderRole.Token Token;

    /// <summary>
    /// The thread's own record, where it blocks in user code that runs inline and has taken the role back.
    /// </summary>
    public InlineThread? Nested;

    public bool HasRole;
    public bool IsCounted;
}
