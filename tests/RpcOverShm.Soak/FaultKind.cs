namespace RpcOverShm.Soak;

/// <summary>The faults; <see cref="FaultWeights"/> has their weights.</summary>
internal enum FaultKind
{
    KillClient,
    KillServer,
    StopClient,
    StopServer,

    /// <summary>A second server process waits for the address; the first one stops with a grace period.</summary>
    RestartServer,

    /// <summary>A client disposes its channel during calls and creates another one.</summary>
    ReopenChannel,

    /// <summary>A process gets little processor time while its own and others' threads spin.</summary>
    StarveProcessor,

    /// <summary>A process may open few descriptors more than it has (RLIMIT_NOFILE).</summary>
    StarveDescriptors,

    /// <summary>A process may map little memory more than it has (RLIMIT_AS).</summary>
    StarveMemory,

    /// <summary>A process may start few threads more than it has (cgroup, pids.max).</summary>
    StarveThreads,
}
