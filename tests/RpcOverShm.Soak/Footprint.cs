namespace RpcOverShm.Soak;

/// <summary>
/// The resources of a process. Those of the library are exact; those of the whole process have a tolerance, because the
/// runtime starts threads, maps memory and keeps pooled arrays as it likes.
/// </summary>
internal sealed record Footprint(
    ProcessFacts Library, int Descriptors, int Threads, int Mappings, long Heap, long Resident)
{
    private const int MoreDescriptors = 4;
    private const int MoreThreads = 3;
    private const int MoreMappings = 150;

    // Arrays of the shared pool and the buffers of threads survive a collection.
    private const long MoreHeap = 24L << 20;
    private const long MoreResident = 128L << 20;

    // The runtime keeps each loaded assembly open, and loads some only for a failure.
    private const string Assembly = ".dll";

    private const string PoolThread = ".NET TP";

    /// <summary>Reads the resources after a full collection in the process.</summary>
    public static async Task<Footprint> ReadAsync(SoakProcess process)
    {
        long heap = long.Parse(await process.DoAsync("heap"), CultureInfo.InvariantCulture);
        int id = process.Peer.Id;
        return new Footprint(
            ProcessFacts.Of(id),
            ProcessResources.CountDescriptors("", id) - ProcessResources.CountDescriptors(Assembly, id),
            ProcessResources.ThreadNames(id).Count(name => !name.StartsWith(PoolThread, StringComparison.Ordinal)),
            File.ReadLines($"/proc/{id}/maps").Count(),
            heap,
            ResidentOf(id));
    }

    /// <summary>Whether the process is back at these resources, within the tolerance.</summary>
    public bool IsBackAt(Footprint before) =>
        Library.IsNoMoreThan(before.Library)
        && Descriptors <= before.Descriptors + MoreDescriptors
        && Threads <= before.Threads + MoreThreads
        && Mappings <= before.Mappings + MoreMappings
        && Heap <= before.Heap + MoreHeap
        && Resident <= before.Resident + MoreResident;

    public override string ToString() => string.Create(
        CultureInfo.InvariantCulture,
        $"{Library.Sockets} sockets, {Library.MemoryFiles} memory files, {Library.Mappings} segments, "
        + $"{Library.Threads} threads of the library; in all {Descriptors} descriptors without assemblies, "
        + $"{Threads} threads without the pool's, {Mappings} mappings, heap {Heap >> 10} KiB, "
        + $"resident {Resident >> 10} KiB");

    private static long ResidentOf(int id)
    {
        string line = File.ReadLines($"/proc/{id}/status").First(
            line => line.StartsWith("VmRSS:", StringComparison.Ordinal));
        return long.Parse(
            line.Split(' ', StringSplitOptions.RemoveEmptyEntries)[1].Trim(), CultureInfo.InvariantCulture) << 10;
    }
}
