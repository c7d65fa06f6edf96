using System.Buffers;

namespace MessagePack;

/// <summary>Collects a message in arrays of a pool, which get them back with Dispose.</summary>
internal sealed class PooledBuffer(ArrayPool<byte> pool) : IBufferWriter<byte>, IDisposable
{
    private const int SmallestArray = 1024;

    private byte[] _bytes = [];
    private int _count;

    internal ReadOnlyMemory<byte> Written => _bytes.AsMemory(0, _count);

    public void Advance(int count) => _count += count;

    public Memory<byte> GetMemory(int sizeHint = 0)
    {
        Require(sizeHint);
        return _bytes.AsMemory(_count);
    }

    public Span<byte> GetSpan(int sizeHint = 0)
    {
        Require(sizeHint);
        return _bytes.AsSpan(_count);
    }

    public void Dispose() => Replace([], 0);

    /// <summary>Reads a stream to its end.</summary>
    internal void Fill(Stream stream)
    {
        while (stream.Read(GetSpan()) is > 0 and int count)
        {
            Advance(count);
        }
    }

    internal async ValueTask FillAsync(Stream stream, CancellationToken cancellationToken)
    {
        while (await stream.ReadAsync(GetMemory(), cancellationToken).ConfigureAwait(false) is > 0 and int count)
        {
            Advance(count);
        }
    }

    private void Require(int sizeHint)
    {
        int free = _bytes.Length - _count;
        if (free < Math.Max(sizeHint, 1))
        {
            int needed = checked(_count + Math.Max(sizeHint, 1));
            int doubled = (int)Math.Min(2L * _bytes.Length, Array.MaxLength);
            Replace(pool.Rent(Math.Max(SmallestArray, Math.Max(needed, doubled))), _count);
        }
    }

    private void Replace(byte[] bytes, int count)
    {
        _bytes.AsSpan(0, count).CopyTo(bytes);
        byte[] old = _bytes;
        _bytes = bytes;
        _count = count;
        if (old.Length > 0)
        {
            pool.Return(old);
        }
    }
}
