using RpcOverShm.Scheduling;

namespace RpcOverShm.Connections;

/// <summary>
/// What a blocking caller holds from before it sends until it leaves: the reader role, or a place among the callers
/// that wait for it, or nothing any more.
/// </summary>
internal struct CallerTurn
{
    public ReaderRole.Token Token;
    public bool HasRole;
    public bool IsCounted;
}
