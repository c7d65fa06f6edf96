using System.Buffers;

namespace MessagePack.Tests.Fakes;

/// <summary>A buffer writer that gives no more than it is asked for, and a few bytes where it is not asked.</summary>
internal sealed class SparingBuffer(int unasked) : IBufferWriter<byte>
{
    private readonly List<byte> _written = [];
    private byte[] _given = [];

    internal byte[] Written => [.. _written];

    internal int Requests { get; private set; }

    public void Advance(int count)
    {
        Assert.That(count, Is.InRange(0, _given.Length));
        _written.AddRange(_given[..count]);
        _given = [];
    }

    public Memory<byte> GetMemory(int sizeHint = 0)
    {
        Requests++;
        _given = new byte[sizeHint == 0 ? unasked : sizeHint];
        return _given;
    }

    public Span<byte> GetSpan(int sizeHint = 0) => GetMemory(sizeHint).Span;
}
