namespace RpcOverShm.Perf.Peer.Recording;

/// <summary>
/// The memory and threads of this process, as the kernel counts them; zeros on systems other than Linux.
/// </summary>
/// <param name="PssBytes">
/// Memory in bytes, with a share of shared pages: two mappings of one page count half each.
/// </param>
/// <param name="Threads">All threads, the runtime's included.</param>
internal readonly record struct FootprintSample(long PssBytes, long Threads)
{
    private const int Kilobyte = 1024;

    public static FootprintSample Take() => OperatingSystem.IsLinux()
        ? new(Field("/proc/self/smaps_rollup", "Pss:") * Kilobyte, Field("/proc/self/status", "Threads:"))
        : default;

    public static FootprintSample Read(LineReader line) => new(line.NextNumber(), line.NextNumber());

    public void Write(LineWriter line) => line.Add(PssBytes).Add(Threads);

    // "Pss:     12345 kB" (proc(5))
    private static long Field(string path, string name)
    {
        string line = File.ReadLines(path).First(line => line.StartsWith(name, StringComparison.Ordinal));
        string number = line.Split((char[])[' ', '\t'], StringSplitOptions.RemoveEmptyEntries)[1];
        return long.Parse(number, CultureInfo.InvariantCulture);
    }
}
