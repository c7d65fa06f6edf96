using System.Globalization;
using System.Runtime.InteropServices;

namespace RpcOverShm.Testing;

/// <summary>
/// Counts the resources of a process, for tests that check for leaks: in /proc, or as Windows tells them. The default
/// is this process.
/// </summary>
public static class ProcessResources
{
    // The name of the product's memory files.
    private const string MemoryFile = "memfd:rpcovershm";

    // Linux truncates the names of threads.
    private const int ThreadNameLength = 15;

    /// <summary>Whether the system is Wine, which does not check rights of pipes and their first instances.</summary>
    public static bool IsWine { get; } = OperatingSystem.IsWindows()
        && NativeLibrary.TryGetExport(NativeLibrary.Load("ntdll"), "wine_get_version", out _);

    /// <summary>Counts the open descriptors whose target contains the text; all descriptors if it is empty.</summary>
    public static int CountDescriptors(string target = "", int? processId = null) =>
        Directory.GetFiles(Root(processId) + "/fd").Count(
            path => TargetOf(path)?.Contains(target, StringComparison.Ordinal) == true);

    /// <summary>
    /// Counts the open descriptors by kind, such as "socket" or "anon_inode:[pidfd]", all files as "file"; on Windows
    /// the handles by the type of their objects.
    /// </summary>
    public static IReadOnlyDictionary<string, int> CountByKind(int? processId = null) => OperatingSystem.IsWindows()
        ? WindowsResources.CountHandles(processId ?? Environment.ProcessId)
        : Directory.GetFiles(Root(processId) + "/fd").Select(TargetOf).OfType<string>().CountBy(KindOf).ToDictionary();

    /// <summary>Counts the open sockets; on Windows the handles of pipes and files.</summary>
    public static int CountSockets(int? processId = null) => OperatingSystem.IsWindows()
        ? CountByKind(processId).GetValueOrDefault("File")
        : CountDescriptors("socket:[", processId);

    /// <summary>Counts the open descriptors of segments; on Windows the handles of sections.</summary>
    public static int CountSegmentDescriptors(int? processId = null) => OperatingSystem.IsWindows()
        ? CountByKind(processId).GetValueOrDefault("Section")
        : CountDescriptors(MemoryFile, processId);

    /// <summary>Counts the mappings of segments.</summary>
    public static int CountSegmentMappings(int? processId = null) => OperatingSystem.IsWindows()
        ? WindowsResources.CountSegmentMappings(processId ?? Environment.ProcessId)
        : File.ReadAllText(Root(processId) + "/maps").AsSpan().Count(MemoryFile);

    /// <summary>Counts the threads whose name starts with this.</summary>
    public static int CountThreads(string name)
    {
        string kept = name.Length > ThreadNameLength ? name[..ThreadNameLength] : name;
        return ThreadNames().Count(thread => thread.StartsWith(kept, StringComparison.Ordinal));
    }

    /// <summary>Whether the threads whose name starts with this all sleep in the kernel.</summary>
    public static bool AreThreadsAsleep(string name)
    {
        string kept = name.Length > ThreadNameLength ? name[..ThreadNameLength] : name;
        return Directory.GetDirectories(Root(null) + "/task").All(
            task => NameOf(task)?.StartsWith(kept, StringComparison.Ordinal) != true || IsAsleep(task));
    }

    /// <summary>Returns the names of all threads, as Linux truncates them.</summary>
    public static string[] ThreadNames(int? processId = null) => OperatingSystem.IsWindows()
        ? WindowsResources.ThreadNames(processId ?? Environment.ProcessId)
        : [.. Directory.GetDirectories(Root(processId) + "/task").Select(NameOf).OfType<string>()];

    private static string Root(int? processId) =>
        "/proc/" + (processId?.ToString(CultureInfo.InvariantCulture) ?? "self");

    // Descriptors may close during the listing; the listing's own one always does.
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

    // A target is a path, "socket:[NUMBER]" or "anon_inode:[KIND]".
    private static string KindOf(string target) =>
        target.Contains(MemoryFile, StringComparison.Ordinal) ? MemoryFile
        : target[0] == '/' ? "file"
        : target.StartsWith("anon_inode:", StringComparison.Ordinal) ? target
        : target.Split(':')[0];

    // The state follows the name, which is in parentheses (proc_pid_stat(5)).
    private static bool IsAsleep(string task)
    {
        try
        {
            string stat = File.ReadAllText(Path.Combine(task, "stat"));
            return stat[stat.LastIndexOf(')') + 2] == 'S';
        }
        catch (IOException)
        {
            return false;
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
