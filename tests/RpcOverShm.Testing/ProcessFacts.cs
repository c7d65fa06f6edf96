namespace RpcOverShm.Testing;

/// <summary>
/// The resources of a process. Of threads and mappings only those of this library count, because the
/// runtime starts and ends its own at any time.
/// </summary>
/// <param name="Sockets">Open sockets, or pipes and files on Windows.</param>
/// <param name="MemoryFiles">Open descriptors or handles of shared memory.</param>
/// <param name="Mappings">Mapped pieces of shared memory.</param>
/// <param name="Threads">Threads of the library.</param>
public sealed record ProcessFacts(int Sockets, int MemoryFiles, int Mappings, int Threads)
{
    // Linux cuts thread names to 15 characters.
    private const string ThreadName = "RpcOverShm";
    private const string WatchdogName = "RpcOverShm watc";
    private const string DoorName = "RpcOverShm door";
    private const string SpareName = "RpcOverShm spar";
    private const string ClosingName = "RpcOverShm clos";
    private const string LoopName = "RpcOverShm loop";

    /// <summary>
    /// Whether the process has no more resources than before. Fewer is fine: garbage of earlier tests is collected at
    /// any time.
    /// </summary>
    public bool IsNoMoreThan(ProcessFacts before) =>
        Sockets <= before.Sockets
        && MemoryFiles <= before.MemoryFiles
        && Mappings <= before.Mappings
        && Threads <= before.Threads;

    /// <summary>Waits until this process has no threads and no mappings of the library.</summary>
    /// <exception cref="TimeoutException">Some remain; the message names them.</exception>
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

    /// <summary>Waits until this process has no more resources than before.</summary>
    /// <exception cref="TimeoutException">It has more; the message says of what.</exception>
    public static async Task ReturnsToAsync(ProcessFacts before)
    {
        try
        {
            await Timeouts.Eventually(() => OfSelf().IsNoMoreThan(before), TimeSpan.FromSeconds(20));
        }
        catch (TimeoutException exception)
        {
            throw new TimeoutException($"{exception.Message} {OfSelf()}; before: {before}.", exception);
        }
    }

    public static ProcessFacts OfSelf() => Of(Environment.ProcessId);

    public static ProcessFacts Of(int processId) => new(
        ProcessResources.CountSockets(processId),
        ProcessResources.CountSegmentDescriptors(processId),
        ProcessResources.CountSegmentMappings(processId),
        CountThreads(processId));

    /// <summary>Counts the threads of the library that must not outlive its objects.</summary>
    public static int CountThreads(int? processId = null)
    {
        string[] threads = ProcessResources.ThreadNames(processId);
        bool hasLoop = Array.Exists(threads, static name => name.StartsWith(LoopName, StringComparison.Ordinal));
        return threads.Count(name => IsOurs(name, hasLoop));
    }

    // The watchdog is one per process and stays; the closing threads, the event loops and that of the doors stay for
    // some seconds, a loop's spare thread as long as the loop. Without a loop a spare thread is a leak.
    private static bool IsOurs(string thread, bool hasLoop) =>
        thread.StartsWith(ThreadName, StringComparison.Ordinal)
        && !thread.StartsWith(WatchdogName, StringComparison.Ordinal)
        && !thread.StartsWith(DoorName, StringComparison.Ordinal)
        && !thread.StartsWith(ClosingName, StringComparison.Ordinal)
        && !thread.StartsWith(LoopName, StringComparison.Ordinal)
        && !(hasLoop && thread.StartsWith(SpareName, StringComparison.Ordinal));
}
