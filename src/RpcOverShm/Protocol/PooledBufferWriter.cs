using System.Buffers;
using System.Diagnostics;

namespace RpcOverShm.Protocol;

/// <summary>
/// Collects bytes in one array of the shared pool. One thread at a time. The array can be taken over by whoever must
/// keep the bytes; otherwise it stays for the next use, unless it has grown beyond what is worth keeping.
/// </summary>
internal sealed class PooledBufferWriter : IBufferWriter<byte>, IDisposable
{
    private const int SmallestBytes = 512;
    private const int KeptBytes = 64 << 10;

    private byte[] _buffer = [];
    private int _length;

    public int Length => _length;

    public ReadOnlyMemory<byte> WrittenMemory => _buffer.AsMemory(0, _length);

    public ReadOnlySpan<byte> WrittenSpan => _buffer.AsSpan(0, _length);

    /// <summary>Forgets the bytes.</summary>
    public void Clear()
    {
        _length = 0;
        if (_buffer.Length > KeptBytes)
        {
            Dispose();
        }
    }

    public void Advance(int count)
    {
        if ((uint)count > (uint)(_buffer.Length - _length))
        {
            throw new ArgumentOutOfRangeException(
                nameof(count), count, $"Only {_buffer.Length - _length} bytes were handed out.");
        }

        _length += count;
    }

    public Memory<byte> GetMemory(int sizeHint = 0)
    {
        Reserve(Math.Max(sizeHint, 1));
        return _buffer.AsMemory(_length);
    }

    public Span<byte> GetSpan(int sizeHint = 0)
    {
        Reserve(Math.Max(sizeHint, 1));
        return _buffer.AsSpan(_length);
    }

    /// <summary>Makes room for so many bytes behind those that are written.</summary>
    public void Reserve(int bytes)
    {
        ArgumentOutOfRangeException.ThrowIfNegative(bytes);
        if (_buffer.Length - _length < bytes)
        {
            Grow(bytes);
        }
    }

    /// <summary>Forgets the first bytes; the others move up.</summary>
    public void RemoveFirst(int count)
    {
        ArgumentOutOfRangeException.ThrowIfGreaterThan((uint)count, (uint)_length);
        _buffer.AsSpan(count, _length - count).CopyTo(_buffer);
        _length -= count;
    }

    public void Write(ReadOnlySpan<byte> bytes)
    {
        Reserve(bytes.Length);
        bytes.CopyTo(_buffer.AsSpan(_length));
        _length += bytes.Length;
    }

    /// <summary>Bytes already written, to be changed in place.</summary>
    public Span<byte> Written(int offset, int length) => _buffer.AsSpan(0, _length).Slice(offset, length);

    /// <summary>Hands the array over; the caller returns it to the shared pool. This writer starts afresh.</summary>
    public byte[] Detach(out int length)
    {
        byte[] buffer = _buffer;
        length = _length;
        _buffer = [];
        _length = 0;
        return buffer;
    }

    public void Dispose()
    {
        byte[] buffer = Detach(out _);
        if (buffer.Length > 0)
        {
            ArrayPool<byte>.Shared.Return(buffer);
        }
    }

    private void Grow(int bytes)
    {
        long wanted = Math.Max(Math.Max(SmallestBytes, (long)_length + bytes), (long)_buffer.Length * 2);
        int size = (int)Math.Min(wanted, Math.Max(Array.MaxLength, (long)_length + bytes));
        byte[] larger = ArrayPool<byte>.Shared.Rent(size);
        Debug.Assert(larger.Length - _length >= bytes, "The pool gives at least what was asked for.");
        WrittenSpan.CopyTo(larger);
        if (_buffer.Length > 0)
        {
            ArrayPool<byte>.Shared.Return(_buffer);
        }

        _buffer = larger;
    }
}
