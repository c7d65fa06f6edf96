using System.Buffers;
using System.Runtime.CompilerServices;
using System.Runtime.InteropServices;

namespace RpcOverShm.Segments;

/// <summary>
/// A record in the peer's memory, as the memory that deserialisers read, for the time of one parse. What a deserialiser
/// keeps of it is empty afterwards, and throws when it is looked at. Used by one thread, for one record: an object that
/// was used again would show the next record to whoever has kept the last.
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

    /// <summary>True while this thread looks at a record in place.</summary>
    public static bool IsShownToThisThread => s_shown != 0;

    /// <summary>The record as a sequence.</summary>
    public ReadOnlySequence<byte> Sequence => new(CreateMemory(_length));

    /// <summary>Shows a record until <see cref="Forget"/>, on the same thread.</summary>
    /// <param name="record">Memory that the collector does not move, and that stays until then.</param>
    public static RecordMemory Of(ReadOnlySpan<byte> record)
    {
        s_shown++;

        // SAFETY: the memory is not the collector's, so that its address stays.
        return new RecordMemory((byte*)Unsafe.AsPointer(ref MemoryMarshal.GetReference(record)), record.Length);
    }

    /// <summary>The record is given back: nobody reads it through this object any more.</summary>
    public void Forget()
    {
        _start = null;
        _length = 0;
        s_shown--;
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

    protected override void Dispose(bool disposing)
    {
    }
}
