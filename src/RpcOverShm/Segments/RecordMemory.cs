using System.Buffers;
using System.Runtime.CompilerServices;
using System.Runtime.InteropServices;

namespace RpcOverShm.Segments;

/// <summary>
/// Exposes a record in the peer's memory to a deserialiser during one in-place parse. Memory that the deserialiser
/// keeps throws when it is accessed after the parse. One thread uses an instance, for one record: a reused instance
/// would expose the next record through memory that was kept from the last one.
/// </summary>
internal sealed unsafe class RecordMemory : MemoryManager<byte>
{
    [ThreadStatic]
    private static int s_shown;

    private byte* _start;
    private int _length;

    private RecordMemory(byte* start, int length)
    {
        _start = start;
        _length = length;
    }

    /// <summary>Whether the current thread is parsing a record in place.</summary>
    public static bool IsShownToThisThread => s_shown != 0;

    public ReadOnlySequence<byte> Sequence => new(CreateMemory(_length));

    /// <summary>Exposes a record until <see cref="Forget"/>, which the same thread must call.</summary>
    /// <param name="record">Memory that the GC does not move, and that stays valid until then.</param>
    public static RecordMemory Of(ReadOnlySpan<byte> record)
    {
        s_shown++;

        // SAFETY: the GC does not move the memory, so its address stays valid.
        return new RecordMemory((byte*)Unsafe.AsPointer(ref MemoryMarshal.GetReference(record)), record.Length);
    }

    /// <summary>Ends the access to the record, before its space is released.</summary>
    public void Forget()
    {
        _start = null;
        _length = 0;
        s_shown--;
    }

    // SAFETY: the record stays valid between Of and Forget; afterwards the span is empty.
    public override Span<byte> GetSpan() => new(_start, _length);

    public override MemoryHandle Pin(int elementIndex = 0)
    {
        ArgumentOutOfRangeException.ThrowIfGreaterThan((uint)elementIndex, (uint)_length);

        // SAFETY: the index is inside the record, which does not move.
        return new MemoryHandle(_start + elementIndex);
    }

    public override void Unpin()
    {
    }

    protected override void Dispose(bool disposing)
    {
    }
}
