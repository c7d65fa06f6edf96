using System.Globalization;

namespace RpcOverShm.Testing;

/// <summary>
/// What a process holds of the system, as /proc says: for tests that everything goes back to where it began. Of this
/// process where none is named.
/// </summary>
public static class ProcessResources
{
    // The name that the product gives its memory files.
    private const string MemoryFile = "memfd:rpcovershm";

    // Linux cuts the names of threads.
    private const int ThreadNameLength = 15;

    /// <summary>Open descriptors whose target contains the text; all for an empty one.</summary>
    public static int CountDescriptors(string target = "", int? processId = null) =>
        Directory.GetFiles(Root(processId) + "/fd").Count(
            path => TargetOf(path)?.Contains(target, StringComparison.Ordinal) == true);

    /// <summary>Open descriptors of segments.</summary>
    public static int CountSegmentDescriptors(int? processId = null) => CountDescriptors(MemoryFile, processId);

    /// <summary>Mappings of segments.</summary>
    public static int CountSegmentMappings(int? processId = null) =>
        File.ReadLines(Root(processId) + "/maps").Count(line => line.Contains(MemoryFile, StringComparison.Ordinal));

    /// <summary>Threads whose name begins so.</summary>
    public static int CountThreads(string name)
    {
        string kept = name.Length > ThreadNameLength ? name[..ThreadNameLength] : name;
        return ThreadNames().Count(thread => thread.StartsWith(kept, StringComparison.Ordinal));
    }

    /// <summary>The names of all threads, as far as the kernel keeps them.</summary>
    public static string[] ThreadNames(int? processId = null) =>
        [.. Directory.GetDirectories(Root(processId) + "/task").Select(NameOf).OfType<string>()];

    private static string Root(int? processId) =>
        "/proc/" + (processId?.ToString(CultureInfo.InvariantCulture) ?? "self");

    // Descriptors and threads go while they are looked at: that of the listing itself always.
    private static string? TargetOf(string descriptor)
    {
        try
        {
            return new FileInfo(descriptor).LinkTarget;
        }
        catch (IOException)
        {
            return null;
        }
    }

    private static string? NameOf(string task)
    {
        try
        {
            return File.ReadAllText(Path.Combine(task, "comm")).TrimEnd('\n');
        }
        catch (IOException)
        {
            return null;
        }
    }
}
