using System.Buffers;
using System.Buffers.Binary;
using System.Diagnostics;
using System.Text;

namespace RpcOverShm.Buffers;

/// <summary>
/// Collects bytes in one pooled array (<see cref="ByteArrays"/>). Not thread-safe. A caller can detach the array to
/// keep the bytes; otherwise the writer reuses it, unless it has grown too large to keep. The writer can borrow a
/// caller's array instead, to which it never writes. A shared piece, of which it has a use, may follow the bytes.
/// Numbers are written in little endian, as on the wire.
/// </summary>
internal sealed class PooledBufferWriter : IBufferWriter<byte>, IDisposable
{
    private const int SmallestBytes = 512;
    private const int KeptBytes = 64 << 10;

    private byte[] _buffer = [];
    private byte[]? _own;  // this writer's array while _buffer is borrowed, otherwise null
    private int _length;

    /// <summary>The number of bytes, with those of the piece.</summary>
    public int Length => Piece is null ? _length : _length + Piece.Length;

    /// <summary>The bytes that follow the written ones, in memory that another process maps; null for none.</summary>
    public SharedPiece? Piece { get; private set; }

    public ReadOnlyMemory<byte> WrittenMemory => _buffer.AsMemory(0, _length);

    public ReadOnlySpan<byte> WrittenSpan => _buffer.AsSpan(0, _length);

    /// <summary>Whether the bytes are in a borrowed array.</summary>
    public bool IsBorrowed => _own is not null;

    private int Room => _own is null ? _buffer.Length - _length : 0;

    /// <summary>Discards the bytes, and returns an array that has grown too large to the pool.</summary>
    public void Clear()
    {
        GiveBack();
        DropPiece();
        _length = 0;
        if (_buffer.Length > KeptBytes)
        {
            Dispose();
        }
    }

    public void Advance(int count)
    {
        if ((uint)count > (uint)Room)
        {
            throw new ArgumentOutOfRangeException(nameof(count), count, $"Only {Room} bytes were handed out.");
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

    /// <summary>Ensures space for this number of bytes after the written ones.</summary>
    public void Reserve(int bytes)
    {
        ArgumentOutOfRangeException.ThrowIfNegative(bytes);
        if (Room < bytes)
        {
            Grow(bytes);
        }
    }

    /// <summary>
    /// Replaces the written bytes by this array, without a copy. The caller must not change it until the writer has
    /// discarded the bytes, or copied them: <see cref="Own"/> does, and each change of the bytes.
    /// </summary>
    public void Borrow(byte[] bytes)
    {
        GiveBack();
        _own = _buffer;
        _buffer = bytes;
        _length = bytes.Length;
    }

    /// <summary>Copies borrowed bytes into this writer's array. The borrowed array is free afterwards.</summary>
    public void Own()
    {
        if (_own is not null)
        {
            ReadOnlySpan<byte> bytes = WrittenSpan;
            GiveBack();
            _length = 0;
            Write(bytes);
        }
    }

    /// <summary>
    /// Lets a piece follow the written bytes, with a use of its own. Nothing may be written afterwards.
    /// </summary>
    /// <exception cref="ObjectDisposedException">The piece has no use left.</exception>
    public void Attach(SharedPiece piece)
    {
        ObjectDisposedException.ThrowIf(!piece.TryAddUse(), typeof(SharedPiece));
        Piece = piece;
    }

    /// <summary>Transfers the piece and its use to the caller; the written bytes stay.</summary>
    public SharedPiece? DetachPiece()
    {
        SharedPiece? piece = Piece;
        Piece = null;
        return piece;
    }

    /// <summary>Copies the bytes of the piece behind the written ones, and drops it.</summary>
    public void CopyPiece()
    {
        if (DetachPiece() is { } piece)
        {
            try
            {
                Write(piece.UsedBytes);
            }
            finally
            {
                piece.EndUse();
            }
        }
    }

    /// <summary>Removes the first bytes; the others move to the front.</summary>
    public void RemoveFirst(int count)
    {
        ArgumentOutOfRangeException.ThrowIfGreaterThan((uint)count, (uint)_length);
        Own();
        _buffer.AsSpan(count, _length - count).CopyTo(_buffer);
        _length -= count;
    }

    public void Write(ReadOnlySpan<byte> bytes) => bytes.CopyTo(Append(bytes.Length));

    /// <summary>Adds bytes, which the caller must write, and returns them.</summary>
    public Span<byte> Append(int count)
    {
        Reserve(count);
        _length += count;
        return _buffer.AsSpan(_length - count, count);
    }

    /// <summary>Adds bytes before the written ones, which the caller must write, and returns them.</summary>
    public Span<byte> InsertFirst(int count)
    {
        int length = _length;
        Append(count);
        _buffer.AsSpan(0, length).CopyTo(_buffer.AsSpan(count));
        return _buffer.AsSpan(0, count);
    }

    public void WriteByte(byte value) => Append(1)[0] = value;

    public void WriteUInt16(ushort value) => BinaryPrimitives.WriteUInt16LittleEndian(Append(2), value);

    public void WriteUInt32(uint value) => BinaryPrimitives.WriteUInt32LittleEndian(Append(4), value);

    public void WriteInt64(long value) => BinaryPrimitives.WriteInt64LittleEndian(Append(8), value);

    /// <summary>Appends UTF-8 text with a 16-bit length. The caller has checked that the length fits.</summary>
    public void WriteShortText(string text)
    {
        WriteUInt16(checked((ushort)Encoding.UTF8.GetByteCount(text)));
        WriteUtf8(text);
    }

    /// <summary>Appends UTF-8 text with a 32-bit length. Unpaired surrogates become replacement characters.</summary>
    public void WriteLongText(string text)
    {
        WriteUInt32((uint)Encoding.UTF8.GetByteCount(text));
        WriteUtf8(text);
    }

    /// <summary>Returns a writer with a copy of the bytes.</summary>
    public PooledBufferWriter Copy()
    {
        var copy = new PooledBufferWriter();
        copy.Write(WrittenSpan);
        if (Piece is not null)
        {
            copy.Attach(Piece);
        }

        return copy;
    }

    /// <summary>Returns written bytes for a change in place.</summary>
    public Span<byte> Written(int offset, int length)
    {
        Own();
        return _buffer.AsSpan(0, _length).Slice(offset, length);
    }

    /// <summary>
    /// Transfers the array, never a borrowed one, to the caller, which must return it to <see cref="ByteArrays"/> if it
    /// is not empty. The writer is empty afterwards.
    /// </summary>
    public byte[] Detach(out int length)
    {
        Own();
        byte[] buffer = _buffer;
        length = _length;
        _buffer = [];
        _length = 0;
        return buffer;
    }

    public void Dispose()
    {
        GiveBack();
        DropPiece();
        byte[] buffer = Detach(out _);
        if (buffer.Length > 0)
        {
            ByteArrays.Return(buffer);
        }
    }

    private void WriteUtf8(string text)
    {
        int length = Encoding.UTF8.GetBytes(text, GetSpan(Encoding.UTF8.GetMaxByteCount(text.Length)));
        Advance(length);
    }

    private void Grow(int bytes)
    {
        if (_own is not null)
        {
            Own();
            Reserve(bytes);
            return;
        }

        long preferred = Math.Max(Math.Max(SmallestBytes, (long)_length + bytes), (long)_buffer.Length * 2);
        int size = (int)Math.Min(preferred, Math.Max(Array.MaxLength, (long)_length + bytes));
        byte[] larger = ByteArrays.Rent(size);
        Debug.Assert(larger.Length - _length >= bytes, "The pool gives at least what was asked for.");
        WrittenSpan.CopyTo(larger);
        if (_buffer.Length > 0)
        {
            ByteArrays.Return(_buffer);
        }

        _buffer = larger;
    }

    private void DropPiece() => DetachPiece()?.EndUse();

    private void GiveBack()
    {
        if (_own is not null)
        {
            _buffer = _own;
            _own = null;
        }
    }
}
