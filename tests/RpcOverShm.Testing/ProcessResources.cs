namespace RpcOverShm.Testing;

/// <summary>
/// What this process holds of the system, as /proc says: for tests that everything goes back to where it began.
/// </summary>
public static class ProcessResources
{
    // The name that the product gives its memory files.
    private const string MemoryFile = "memfd:rpcovershm";

    /// <summary>Open descriptors whose target contains the text; all for an empty one.</summary>
    public static int CountDescriptors(string target = "") => Directory.GetFiles("/proc/self/fd").Count(path =>
    {
        try
        {
            return new FileInfo(path).LinkTarget is { } link && link.Contains(target, StringComparison.Ordinal);
        }
        catch (IOException)
        {
            // The descriptor of the listing itself is closed by now.
            return false;
        }
    });

    /// <summary>Open descriptors of segments.</summary>
    public static int CountSegmentDescriptors() => CountDescriptors(MemoryFile);

    /// <summary>Mappings of segments in this process.</summary>
    public static int CountSegmentMappings() =>
        File.ReadLines("/proc/self/maps").Count(line => line.Contains(MemoryFile, StringComparison.Ordinal));

    /// <summary>Threads of this process whose name begins so; the kernel keeps 15 characters.</summary>
    public static int CountThreads(string name)
    {
        string kept = name.Length > 15 ? name[..15] : name;
        return Directory.GetDirectories("/proc/self/task").Count(task =>
        {
            try
            {
                return File.ReadAllText(Path.Combine(task, "comm")).StartsWith(kept, StringComparison.Ordinal);
            }
            catch (IOException)
            {
                return false;
            }
        });
    }
}
