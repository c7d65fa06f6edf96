namespace RpcOverShm.Systems;

/// <summary>
/// Another process, readable when all its threads have ended. It always means the same process, even after another one
/// got its id.
/// </summary>
internal abstract class WatchedProcess : Watchable
{
    /// <summary>Equal for two of one process, and different for those of two living ones.</summary>
    public abstract ProcessKey Key { get; }

    public bool HasExited => IsReadable(timeoutMilliseconds: 0);
}

/// <summary>The identity of a process: its id, and two numbers of the system that tell it from a later one.</summary>
internal readonly record struct ProcessKey(int ProcessId, ulong Unique, ulong Domain);
