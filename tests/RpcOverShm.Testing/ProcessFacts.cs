namespace RpcOverShm.Testing;

/// <summary>
/// What a process holds of the operating system, as /proc says. Of threads and mappings only those that are this
/// library's: the runtime has its own comings and goings.
/// </summary>
/// <param name="Sockets">Open sockets.</param>
/// <param name="MemoryFiles">Open descriptors of shared memory.</param>
/// <param name="Mappings">Mapped pieces of shared memory.</param>
/// <param name="Threads">Threads of the library.</param>
public sealed record ProcessFacts(int Sockets, int MemoryFiles, int Mappings, int Threads)
{
    // Linux cuts thread names to 15 characters.
    private const string ThreadName = "RpcOverShm";
    private const string WatchdogName = "RpcOverShm watc";
    private const string SpareName = "RpcOverShm spar";

    /// <summary>
    /// True when nothing is there that was not there then. Fewer is right: what others left is collected at any time.
    /// </summary>
    public bool IsNoMoreThan(ProcessFacts before) =>
        Sockets <= before.Sockets
        && MemoryFiles <= before.MemoryFiles
        && Mappings <= before.Mappings
        && Threads <= before.Threads;

    /// <summary>Waits until this process has neither threads nor mappings of the library any more.</summary>
    /// <exception cref="TimeoutException">It still has some; the message says which.</exception>
    public static async Task NoneAsync()
    {
        try
        {
            await Timeouts.Eventually(() => OfSelf() is { Mappings: 0, Threads: 0 });
        }
        catch (TimeoutException exception)
        {
            string threads = string.Join(", ", ProcessResources.ThreadNames().Order());
            throw new TimeoutException($"{exception.Message} {OfSelf()}, of the threads {threads}.", exception);
        }
    }

    public static ProcessFacts OfSelf() => Of(Environment.ProcessId);

    public static ProcessFacts Of(int processId)
    {
        int mappings = ProcessResources.CountSegmentMappings(processId);
        return new ProcessFacts(
            ProcessResources.CountDescriptors("socket:[", processId),
            ProcessResources.CountSegmentDescriptors(processId),
            mappings,
            ProcessResources.ThreadNames(processId).Count(name => IsOurs(name, mappings > 0)));
    }

    // The watchdog is one per process and stays. A connection may have a spare thread, which comes when one was
    // rescued; without a connection it is one too many.
    private static bool IsOurs(string thread, bool hasConnections) =>
        thread.StartsWith(ThreadName, StringComparison.Ordinal)
        && !thread.StartsWith(WatchdogName, StringComparison.Ordinal)
        && !(hasConnections && thread.StartsWith(SpareName, StringComparison.Ordinal));
}
