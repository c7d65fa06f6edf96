using System.Buffers;

namespace MessagePack.Tests.Fakes;

/// <summary>A buffer writer that breaks its promise: it gives so many bytes, however many it is asked for.</summary>
internal sealed class MeagreBuffer(int given) : IBufferWriter<byte>
{
    private const int All = 64;

    private readonly byte[] _bytes = new byte[All];

    /// <summary>What lies behind what it has given, and is somebody else's.</summary>
    internal ReadOnlySpan<byte> Behind => _bytes.AsSpan(given);

    public void Advance(int count)
    {
    }

    public Memory<byte> GetMemory(int sizeHint = 0) => _bytes.AsMemory(0, given);

    public Span<byte> GetSpan(int sizeHint = 0) => GetMemory(sizeHint).Span;
}
