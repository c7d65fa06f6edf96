using System.Buffers;
using System.Runtime.CompilerServices;
using System.Runtime.InteropServices;

namespace MessagePack;

/// <summary>
/// Writes tokens into a buffer writer, each in the shortest form that holds it. What was written is the buffer writer's
/// only after <see cref="Flush"/>.
/// </summary>
#pragma warning disable CA1815 // Nobody compares writers.
public ref partial struct MessagePackWriter
#pragma warning restore CA1815
{
    private readonly IBufferWriter<byte> _output;
    private Span<byte> _span;
    private int _written;

    public MessagePackWriter(IBufferWriter<byte> writer)
    {
        ArgumentNullException.ThrowIfNull(writer);
        _output = writer;
    }

    public CancellationToken CancellationToken { get; set; }

    /// <summary>Writes as the format was before it had binaries and short string lengths.</summary>
    public bool OldSpec { get; set; }

    public readonly MessagePackWriter Clone(IBufferWriter<byte> writer) =>
        new(writer) { OldSpec = OldSpec, CancellationToken = CancellationToken };

    public void Flush()
    {
        if (_written > 0)
        {
            int written = _written;
            _written = 0;
            _span = default;
            _output.Advance(written);
        }
    }

    public Span<byte> GetSpan(int length)
    {
        Reserve(length);
        return _span[_written..];
    }

    public void Advance(int length)
    {
        ArgumentOutOfRangeException.ThrowIfNegative(length);
        ArgumentOutOfRangeException.ThrowIfGreaterThan(length, _span.Length - _written);
        _written += length;
    }

    public void WriteRaw(scoped ReadOnlySpan<byte> rawMessagePackBlock)
    {
        if (rawMessagePackBlock.TryCopyTo(_span[_written..]))
        {
            _written += rawMessagePackBlock.Length;
            return;
        }

        // One span for all of it might be more than the buffer writer can give.
        Flush();
        _output.Write(rawMessagePackBlock);
        _span = default;
    }

    public void WriteRaw(in ReadOnlySequence<byte> rawMessagePackBlock)
    {
        foreach (ReadOnlyMemory<byte> segment in rawMessagePackBlock)
        {
            WriteRaw(segment.Span);
        }
    }

    /// <summary>Makes room for so many bytes and answers where they go; whoever writes them says how many.</summary>
    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    private ref byte Reserve(int length)
    {
        if (_span.Length - _written < length)
        {
            Grow(length);
        }

        return ref Unsafe.Add(ref MemoryMarshal.GetReference(_span), _written);
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    private void Grow(int length)
    {
        Flush();
        _span = _output.GetSpan(length);
        // What follows is written without a look at the bounds.
        if (_span.Length < length)
        {
            throw new InvalidOperationException(
                $"The buffer writer gave {_span.Length} bytes where {length} were asked for.");
        }
    }
}
