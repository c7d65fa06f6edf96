using System.Diagnostics;
using System.Runtime.InteropServices;
using RpcOverShm.Systems;

namespace RpcOverShm.Topics;

/// <summary>
/// The mapped words of one link of a subscribing process, the sole owner of their address. An access after
/// <see cref="Dispose"/> faults; this class cannot prevent it.
/// </summary>
internal sealed unsafe class SubscriberPage : IDisposable
{
    private readonly MappedMemory _memory;
    private nint _words;

    private SubscriberPage(MappedMemory memory, int place)
    {
        _memory = memory;
        _words = memory.Address + SubscriberLayout.OffsetOf(place);
    }

    /// <summary>The position up to which the subscribers of the link that wait have read.</summary>
    public ref long Head => ref Words->Head;

    /// <summary>A position with the ways to wake, while the subscriber sleeps for data; else 0.</summary>
    public ref long ParkedForData => ref Words->ParkedForData;

    /// <summary>The handle of the memory, which the subscriber passes to the publisher.</summary>
    public SafeHandle Handle => _memory.Handle;

    private SubscriberLayout* Words
    {
        get
        {
            Debug.Assert(_words != 0, "The page was disposed while something still used it.");
            return (SubscriberLayout*)_words;
        }
    }

    /// <summary>Creates the page of a subscribing process, with its words at a place of the publisher.</summary>
    /// <exception cref="SegmentException">A system call failed.</exception>
    public static SubscriberPage Create(int place) => new(
        HostSystem.Current.CreateMemory(SubscriberLayout.PageBytes, SubscriberLayout.PageBytes), place);

    /// <summary>Checks a handle of a subscriber, maps its page for reading, and closes the handle.</summary>
    /// <exception cref="SegmentException">The handle failed a check, or the mapping failed.</exception>
    public static SubscriberPage Open(SafeHandle handle, int place)
    {
        MappedMemory memory =
            HostSystem.Current.OpenMemory(handle, SubscriberLayout.PageBytes, SubscriberLayout.PageBytes);
        memory.ReleaseHandle();
        return new SubscriberPage(memory, place);
    }

    /// <summary>Releases the memory, after which nobody may use its words.</summary>
    public void Dispose()
    {
        _words = 0;
        _memory.Dispose();
    }
}
