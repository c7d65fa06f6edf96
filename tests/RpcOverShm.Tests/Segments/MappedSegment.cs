using RpcOverShm.Segments;

namespace RpcOverShm.Tests.Segments;

/// <summary>
/// A segment of an owner and the same memory as its peer maps it: a second, read-only mapping at another address in
/// this process.
/// </summary>
internal sealed class MappedSegment : IDisposable
{
    public MappedSegment(long ringCapacity)
    {
        Own = SharedSegment.Create(ringCapacity, Guid.NewGuid());
        View = SharedSegment.Open(Descriptors.Duplicate(Own.Handle), ringCapacity);
        Own.ReleaseHandle();
    }

    /// <summary>The owner's writable mapping.</summary>
    public SharedSegment Own { get; }

    /// <summary>The peer's read-only mapping.</summary>
    public SharedSegment View { get; }

    public void Dispose()
    {
        View.Dispose();
        Own.Dispose();
    }
}
