using Microsoft.Win32.SafeHandles;
using RpcOverShm.Segments;

namespace RpcOverShm.Fuzz;

/// <summary>
/// A segment as its owner and its peer map it, for all inputs of a process: mapping costs more than reading an input.
/// </summary>
internal sealed class SegmentPair
{
    public SegmentPair(long ringCapacity)
    {
        Own = SharedSegment.Create(ringCapacity, Guid.Empty);
        SafeFileHandle view = File.OpenHandle(
            $"/proc/self/fd/{Own.Handle.DangerousGetHandle()}", share: FileShare.ReadWrite);
        View = SharedSegment.Open(view, ringCapacity);
        Own.ReleaseHandle();
    }

    /// <summary>The owner's writable mapping.</summary>
    public SharedSegment Own { get; }

    /// <summary>The peer's read-only mapping.</summary>
    public SharedSegment View { get; }

    /// <summary>Sets all words to their values in a new segment. The data stays.</summary>
    public void Reset()
    {
        Own.Tail = 0;
        Own.Head = 0;
        Own.ParkedForData = 0;
        Own.ParkedForSpace = 0;
    }
}
