using System.Runtime.InteropServices;
using RpcOverShm.Systems;

namespace RpcOverShm.Segments;

/// <summary>
/// A memory file that one process, its owner, rewrites now and then, and that others map read-only and copy whenever
/// they like: the owner never waits for them. The first word is a sequence number, which is odd while the owner writes
/// (seqlock); all other bytes are the content. The owner calls it from one thread at a time.
/// </summary>
internal sealed unsafe class SharedPage : IDisposable
{
    /// <summary>The size of the file; it has one size, so that a reader need not be told.</summary>
    public const int SizeBytes = 128 << 10;

    /// <summary>The bytes of the content, behind the sequence number.</summary>
    public const int ContentBytes = SizeBytes - sizeof(long);

    private readonly MappedMemory _memory;
    private long _sequence;

    private SharedPage(MappedMemory memory) => _memory = memory;

    /// <summary>The handle to pass to a reader. Only the owner has it.</summary>
    public SafeHandle Handle => _memory.Handle;

    private ref long Sequence => ref *(long*)_memory.Address;

    private byte* Content => (byte*)_memory.Address + sizeof(long);

    /// <summary>Creates a page of zeros, with its memory, that nobody else can map for writing.</summary>
    /// <exception cref="SegmentException">A system call failed.</exception>
    public static SharedPage Create() => new(HostSystem.Current.CreateMemory(SizeBytes, SizeBytes));

    /// <summary>Checks a handle of the owner, maps its page for reading, and closes the handle.</summary>
    /// <exception cref="SegmentException">The handle failed a check, or the mapping failed.</exception>
    public static SharedPage Open(SafeHandle handle)
    {
        MappedMemory memory = HostSystem.Current.OpenMemory(handle, SizeBytes, SizeBytes);
        try
        {
            memory.CheckRest();
            memory.ReleaseHandle();
            return new SharedPage(memory);
        }
        catch
        {
            memory.Dispose();
            throw;
        }
    }

    /// <summary>Replaces the first bytes of the content. Only the owner calls this.</summary>
    public void Write(ReadOnlySpan<byte> content)
    {
        // SYNC statistics-sequence: odd before the content changes. The fence orders this store before those of the
        // content; a reader that copies some of them reads an odd number, or another one at its end.
        SharedMemoryOrder.WriteFenced(ref Sequence, ++_sequence);
        content.CopyTo(new Span<byte>(Content, ContentBytes));

        // SYNC statistics-sequence: even after the content has changed.
        SharedMemoryOrder.WriteRelease(ref Sequence, ++_sequence);
    }

    /// <summary>
    /// Copies the content. Returns false if the owner has changed it meanwhile: the copy is then useless.
    /// </summary>
    public bool TryRead(Span<byte> copy)
    {
        // SYNC statistics-sequence: the content is read after it.
        long before = SharedMemoryOrder.ReadAcquire(ref Sequence);
        if ((before & 1) != 0)
        {
            return false;
        }

        new ReadOnlySpan<byte>(Content, Math.Min(copy.Length, ContentBytes)).CopyTo(copy);
        Interlocked.MemoryBarrier(); // LoadLoad: the content is read before the number is read again.

        // SYNC statistics-sequence: unchanged, if the copy is of one moment.
        return SharedMemoryOrder.ReadAcquire(ref Sequence) == before;
    }

    public void Dispose() => _memory.Dispose();
}
