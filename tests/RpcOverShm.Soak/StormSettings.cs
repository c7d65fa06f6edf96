namespace RpcOverShm.Soak;

/// <summary>The kind of a storm of callbacks.</summary>
/// <param name="Mode">The scheduling mode of server and clients.</param>
/// <param name="Pools">The thread pools of server and clients.</param>
/// <param name="Workers">The number of concurrent callers of each client.</param>
internal sealed record StormSettings(ShmSchedulingMode Mode, StormPools Pools, int Workers)
{
    // Far fewer than callers, so that methods that block take all.
    private const int ServerThreads = 4;
    private const int ClientThreads = 2;

    /// <summary>The number of threads of the server's pool; null for as many as the runtime likes.</summary>
    public int? ServerPool => Pools == StormPools.Free ? null : ServerThreads;

    /// <summary>The number of threads of the pool of each client; null for as many as the runtime likes.</summary>
    public int? ClientPool => Pools switch
    {
        StormPools.Free => null,
        StormPools.Blocked => Workers,
        _ => ClientThreads,
    };
}

/// <summary>The thread pools of a storm.</summary>
internal enum StormPools
{
    /// <summary>As the runtime makes them. Half of the callers block, on threads of their own; half await.</summary>
    Free,

    /// <summary>
    /// A few threads on both sides. Methods that block in callbacks take all of the server's; the clients' run the
    /// callbacks of awaited calls.
    /// </summary>
    Bounded,

    /// <summary>
    /// A few threads on both sides, all of them blocked: those of a client in calls, those of the server in callbacks.
    /// </summary>
    Blocked,
}
