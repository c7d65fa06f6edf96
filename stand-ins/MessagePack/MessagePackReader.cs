using System.Buffers;
using System.Runtime.CompilerServices;
using System.Runtime.InteropServices;

namespace MessagePack;

/// <summary>
/// Reads tokens off a message. What is left is checked before anything is made of it, so a length or a count in a
/// message never costs more memory than the message has bytes.
/// </summary>
/// <remarks>
/// Within a segment everything is read by one offset into its span; only what lies across segments looks at the
/// sequence.
/// </remarks>
#pragma warning disable CA1815 // Nobody compares readers.
public ref partial struct MessagePackReader
#pragma warning restore CA1815
{
    private readonly ReadOnlySequence<byte> _sequence;
    private ReadOnlySpan<byte> _span;
    private int _at;
    private long _before;
    private SequencePosition _spanStart;
    private SequencePosition _next;

    public MessagePackReader(ReadOnlyMemory<byte> memory)
    {
        _sequence = new ReadOnlySequence<byte>(memory);
        _span = memory.Span;
        _spanStart = _sequence.Start;
    }

    public MessagePackReader(scoped in ReadOnlySequence<byte> readOnlySequence)
    {
        _sequence = readOnlySequence;
        _spanStart = readOnlySequence.Start;
        if (readOnlySequence.IsSingleSegment)
        {
            _span = readOnlySequence.FirstSpan;
        }
        else
        {
            _next = readOnlySequence.Start;
            MoveToNextSegment();
        }
    }

    public CancellationToken CancellationToken { get; set; }

    public int Depth { get; set; }

    public readonly ReadOnlySequence<byte> Sequence => _sequence;

    public readonly SequencePosition Position => _sequence.GetPosition(_at, _spanStart);

    public readonly long Consumed => _before + _at;

    public readonly bool End => Remaining == 0;

    public readonly bool IsNil => NextCode == MessagePackCode.Nil;

    public readonly MessagePackType NextMessagePackType => MessagePackCode.ToMessagePackType(NextCode);

    public readonly byte NextCode => _at < _span.Length ? _span[_at] : NextCodeOfNextSegment();

    private readonly long Remaining => IsLastSegment ? _span.Length - _at : _sequence.Length - Consumed;

    private readonly bool IsLastSegment => _next.GetObject() is null;

    public readonly MessagePackReader Clone(scoped in ReadOnlySequence<byte> readOnlySequence) =>
        new(readOnlySequence) { CancellationToken = CancellationToken, Depth = Depth };

    public readonly MessagePackReader CreatePeekReader() => this;

    private readonly byte NextCodeOfNextSegment()
    {
        Span<byte> code = stackalloc byte[1];
        return CopyTo(code) == 1 ? code[0] : throw NotEnoughBytes();
    }

    /// <summary>Copies what comes next without taking it, and answers how much that was.</summary>
    private readonly int CopyTo(scoped Span<byte> bytes)
    {
        ReadOnlySpan<byte> rest = _span[_at..];
        SequencePosition next = _next;
        int copied = 0;
        while (true)
        {
            rest = rest[..Math.Min(rest.Length, bytes.Length - copied)];
            rest.CopyTo(bytes[copied..]);
            copied += rest.Length;
            if (copied == bytes.Length || next.GetObject() is null
                || !_sequence.TryGet(ref next, out ReadOnlyMemory<byte> segment))
            {
                return copied;
            }

            rest = segment.Span;
        }
    }

    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    private void Advance(int length)
    {
        if (length <= _span.Length - _at)
        {
            _at += length;
        }
        else
        {
            AdvanceAcrossSegments(length);
        }
    }

    /// <summary>The caller has checked that there is as much.</summary>
    private void AdvanceAcrossSegments(long length)
    {
        while (length > _span.Length - _at)
        {
            length -= _span.Length - _at;
            _at = _span.Length;
            if (!MoveToNextSegment())
            {
                throw NotEnoughBytes();
            }
        }

        _at += (int)length;
    }

    /// <summary>Leaves a segment that has been read to its end for the next one that has bytes.</summary>
    private bool MoveToNextSegment()
    {
        SequencePosition start = _next;
        while (start.GetObject() is not null && _sequence.TryGet(ref _next, out ReadOnlyMemory<byte> segment))
        {
            _before += _span.Length;
            _span = segment.Span;
            _spanStart = start;
            _at = 0;
            if (!segment.IsEmpty)
            {
                return true;
            }

            start = _next;
        }

        return false;
    }

    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    private readonly ref byte Here() => ref Unsafe.Add(ref MemoryMarshal.GetReference(_span), _at);
}
