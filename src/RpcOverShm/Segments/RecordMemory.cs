using System.Buffers;
using System.Runtime.CompilerServices;
using System.Runtime.InteropServices;

namespace RpcOverShm.Segments;

/// <summary>
/// A record in the peer's memory, as the memory that deserialisers read, for the time of one parse. What a deserialiser
/// keeps of it is empty afterwards, and throws when it is looked at. Used by one thread; kept for each thread and used
/// again.
/// </summary>
internal sealed unsafe class RecordMemory : MemoryManager<byte>
{
    [ThreadStatic]
    private static RecordMemory? s_spare;

    private byte* _start;
    private int _length;

    /// <summary>The record as a sequence.</summary>
    public ReadOnlySequence<byte> Sequence => new(CreateMemory(_length));

    /// <summary>Shows a record until <see cref="Forget"/>.</summary>
    /// <param name="record">Memory that the collector does not move, and that stays until then.</param>
    public static RecordMemory Of(ReadOnlySpan<byte> record)
    {
        RecordMemory memory = s_spare ?? new RecordMemory();
        s_spare = null;

        // SAFETY: the memory is not the collector's, so that its address stays.
        memory._start = (byte*)Unsafe.AsPointer(ref MemoryMarshal.GetReference(record));
        memory._length = record.Length;
        return memory;
    }

    /// <summary>The record is given back: nobody reads it through this object any more.</summary>
    public void Forget()
    {
        _start = null;
        _length = 0;
        s_spare = this;
    }

    // SAFETY: between Of and Forget the record lies there; else the span is empty.
    public override Span<byte> GetSpan() => new(_start, _length);

    public override MemoryHandle Pin(int elementIndex = 0)
    {
        ArgumentOutOfRangeException.ThrowIfGreaterThan((uint)elementIndex, (uint)_length);

        // SAFETY: inside the record, which does not move.
        return new MemoryHandle(_start + elementIndex);
    }

    public override void Unpin()
    {
    }

    protected override void Dispose(bool disposing) => Forget();
}
