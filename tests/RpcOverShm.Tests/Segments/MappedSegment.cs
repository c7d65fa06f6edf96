using RpcOverShm.Segments;
using RpcOverShm.Tests.Windows;

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
        View = ViewOf(Own, ringCapacity);
        Own.ReleaseHandle();
    }

    /// <summary>The owner's writable mapping.</summary>
    public SharedSegment Own { get; }

    /// <summary>The peer's read-only mapping.</summary>
    public SharedSegment View { get; }

    /// <summary>Maps a segment as the peer does, with a handle as it receives one.</summary>
    public static SharedSegment ViewOf(SharedSegment own, long ringCapacity) => SharedSegment.Open(
        OperatingSystem.IsWindows() ? Handles.OfPeer(own.Handle) : Descriptors.Duplicate(own.Handle), ringCapacity);

    public void Dispose()
    {
        View.Dispose();
        Own.Dispose();
    }
}
