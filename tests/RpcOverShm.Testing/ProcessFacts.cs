using System.Globalization;

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
    private const string SegmentName = "memfd:rpcovershm";

    // Linux cuts thread names to 15 characters.
    private const string ThreadName = "RpcOverShm";
    private const string SentinelName = "RpcOverShm sent";
    private const string SpareName = "RpcOverShm spar";

    /// <summary>
    /// True when nothing is there that was not there then. Fewer is right: what others left is collected at any time.
    /// </summary>
    public bool IsNoMoreThan(ProcessFacts before) =>
        Sockets <= before.Sockets
        && MemoryFiles <= before.MemoryFiles
        && Mappings <= before.Mappings
        && Threads <= before.Threads;

    public static ProcessFacts OfSelf() => Of(Environment.ProcessId);

    public static ProcessFacts Of(int processId)
    {
        string root = "/proc/" + processId.ToString(CultureInfo.InvariantCulture);
        string[] targets = [.. Directory.EnumerateFiles(root + "/fd").Select(TargetOf)];
        int mappings = File.ReadLines(root + "/maps").Count(
            line => line.Contains(SegmentName, StringComparison.Ordinal));
        return new ProcessFacts(
            targets.Count(target => target.Contains("socket:[", StringComparison.Ordinal)),
            targets.Count(target => target.Contains(SegmentName, StringComparison.Ordinal)),
            mappings,
            Directory.EnumerateDirectories(root + "/task").Count(task => IsThreadOfOurs(task, mappings > 0)));
    }

    // The sentinel is one per process and stays. A connection may have a spare thread, which comes when one was
    // rescued; without a connection it is one too many.
    private static bool IsThreadOfOurs(string task, bool hasConnections)
    {
        string name = ReadOrEmpty(task + "/comm");
        return name.StartsWith(ThreadName, StringComparison.Ordinal)
            && !name.StartsWith(SentinelName, StringComparison.Ordinal)
            && !(hasConnections && name.StartsWith(SpareName, StringComparison.Ordinal));
    }

    // Descriptors and threads go while they are looked at.
    private static string TargetOf(string descriptor)
    {
        try
        {
            return File.ResolveLinkTarget(descriptor, returnFinalTarget: false)?.FullName ?? "";
        }
        catch (IOException)
        {
            return "";
        }
    }

    private static string ReadOrEmpty(string path)
    {
        try
        {
            return File.ReadAllText(path);
        }
        catch (IOException)
        {
            return "";
        }
    }
}
