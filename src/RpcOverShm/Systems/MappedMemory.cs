using System.Buffers;
using System.Diagnostics;
using System.Runtime.InteropServices;

namespace RpcOverShm.Systems;

/// <summary>
/// One mapping of memory that two processes share, the sole owner of its address. An access after
/// <see cref="Dispose"/> faults; this class cannot prevent it.
/// </summary>
internal abstract unsafe class MappedMemory(nint address, long sizeBytes) : IDisposable
{
    private nint _address = address;

    public nint Address
    {
        get
        {
            Debug.Assert(_address != 0, "The memory was disposed while something still used it.");
            return _address;
        }
    }

    public long SizeBytes => sizeBytes;

    /// <summary>The handle that a peer can map, until it is released. Only the owner's is passed.</summary>
    public abstract SafeHandle Handle { get; }

    /// <summary>Closes the handle; the mapping remains.</summary>
    public abstract void ReleaseHandle();

    /// <summary>Of the owner: gives all pages memory. Returns null on success, else the system's reason.</summary>
    public abstract string? TryAllocateRest();

    /// <summary>
    /// Of the other side: checks that the owner has given all pages memory, before they are read. An access can then
    /// not fail. Does nothing the second time.
    /// </summary>
    /// <exception cref="SegmentException">Some pages have none, or the system does not say.</exception>
    public abstract void CheckRest();

    /// <summary>A part of the memory. The caller has checked it, and sees to it that the mapping outlives it.</summary>
    public Span<byte> SpanAt(long offset, int length)
    {
        Debug.Assert(offset >= 0 && length >= 0 && offset + length <= SizeBytes, "The part lies in the memory.");
        return new Span<byte>((byte*)Address + offset, length);
    }

    /// <summary>The address of a part, for native code; disposing the handle unpins the object.</summary>
    public MemoryHandle PinAt(long offset, IPinnable pinned) => new((byte*)Address + offset, pinnable: pinned);

    public void Dispose()
    {
        ReleaseHandle();

        // A private field, not shared memory: if two threads dispose concurrently, only one of them unmaps.
        nint address = Interlocked.Exchange(ref _address, 0);
        if (address != 0)
        {
            Unmap(address, SizeBytes);
        }
    }

    protected abstract void Unmap(nint address, long sizeBytes);
}
