using System.Collections.Concurrent;
using RpcOverShm.Buffers;
using RpcOverShm.Calls;
using RpcOverShm.Systems;

namespace RpcOverShm.Servers;

/// <summary>
/// The limits that the connections of a server, or of a channel's callbacks, share: the gate of their calls, and the
/// bytes that they make this process keep. Thread-safe.
/// </summary>
internal sealed class SharedLimits(ServerLimits limits)
{
    private readonly ConcurrentDictionary<Account, BufferBudget> _orphanBudgets = new(); // by user

    /// <summary>The gate of the calls of all connections.</summary>
    public CallGate ServerGate { get; } = new(limits.MaxCalls);

    /// <summary>The bytes that all connections may make this process keep.</summary>
    public BufferBudget BufferBudget { get; } = new(ServerLimits.BytesOption, limits.MaxBytes);

    /// <summary>
    /// Returns the budget of the one-way calls that the closed connections of a user have left behind: all together as
    /// much as one connection may make the server keep.
    /// </summary>
    public BufferBudget OrphanBudgetOf(Account user) => _orphanBudgets.GetOrAdd(
        user,
        static (_, of) => new BufferBudget(
            ServerLimits.ConnectionBytesOption, of.limits.MaxBytesPerConnection, of.BufferBudget),
        (limits, BufferBudget));
}
