using System.Buffers;

namespace RpcOverShm.Calls;

/// <summary>
/// The bytes of one received message in private memory: one array of the shared pool, or a chain of them for a large
/// message that grew as its parts came, or the very array that its reader will want. Owned by whoever holds it, who
/// releases it once. Not thread-safe.
/// </summary>
internal struct ReceivedMessage
{
    /// <summary>The pool's largest array that is not a large object.</summary>
    public const int ChunkBytes = 64 << 10;

    /// <summary>A shorter message is copied once more, for less than it costs to ask how it will be taken.</summary>
    public const int SmallestArrayBytes = 1 << 10;

    // In place of how full the last array is: the array is as long as the message will be, and not the pool's.
    private const int Own = -1;

    private byte[]? _array;  // the only array, or the last of a chain
    private object? _more;   // the last segment of the chain, which knows the first; or the promise of an own array
    private int _inArray;    // bytes in the last array, or Own

    public ReceivedMessage(ReadOnlySpan<byte> bytes)
        : this(bytes.Length)
    {
        Append(bytes, 0);
    }

    /// <param name="firstBytes">Room to make at first.</param>
    public ReceivedMessage(int firstBytes) => _array = ArrayPool<byte>.Shared.Rent(Math.Max(firstBytes, 1));

    /// <summary>A message that has come whole; in the array that its reader will want, where it wants one.</summary>
    public static ReceivedMessage Of(ReadOnlySpan<byte> bytes, PayloadAccessHint hint)
    {
        ReceivedMessage whole = ToCome(bytes.Length, bytes.Length, hint);
        whole.Append(bytes, 0);
        return whole;
    }

    /// <summary>
    /// Room for a message: for what has come of it, since announcing costs a peer nothing; or for all of it, where its
    /// reader wants an array of its own and not too much was promised already.
    /// </summary>
    /// <param name="wholeBytes">How long the message was announced to be.</param>
    /// <param name="firstBytes">How many bytes of it have come.</param>
    /// <param name="hint">How its reader takes messages.</param>
    public static ReceivedMessage ToCome(int wholeBytes, int firstBytes, PayloadAccessHint hint)
    {
        ReceiveReservation? promise = null;
        if (wholeBytes < SmallestArrayBytes
            || !hint.IsAsArray
            || (firstBytes < wholeBytes && (promise = ReceiveReservation.TryMake(wholeBytes)) is null))
        {
            return new ReceivedMessage(firstBytes);
        }

        // Every byte is written before anybody reads it, and zeroing a large array costs as much as the copy.
        return new ReceivedMessage
        {
            _array = GC.AllocateUninitializedArray<byte>(wholeBytes),
            _more = promise,
            _inArray = Own,
        };
    }

    /// <summary>A copy of bytes, in arrays of which none is large.</summary>
    public static ReceivedMessage InChunks(in ReadOnlySequence<byte> bytes)
    {
        var copy = new ReceivedMessage((int)Math.Min(bytes.Length, ChunkBytes));
        long left = bytes.Length;
        foreach (ReadOnlyMemory<byte> memory in bytes)
        {
            for (ReadOnlySpan<byte> rest = memory.Span; !rest.IsEmpty;)
            {
                ReadOnlySpan<byte> part = rest[..Math.Min(rest.Length, ChunkBytes / 2)];
                left -= part.Length;
                copy.Append(part, (int)Math.Min(left, ChunkBytes / 2));
                rest = rest[part.Length..];
            }
        }

        return copy;
    }

    /// <summary>How many bytes there are.</summary>
    public int Length { get; private set; }

    public readonly bool IsEmpty => _array is null;

    private readonly PooledSegment? Last => _more as PooledSegment;

    /// <summary>Adds a part of the message, which has room left for this many bytes after it.</summary>
    public void Append(ReadOnlySpan<byte> bytes, int bytesToCome)
    {
        if (_inArray == Own)
        {
            bytes.CopyTo(_array.AsSpan(Length));
            Length += bytes.Length;
            if (Length == _array!.Length)
            {
                ((ReceiveReservation?)_more)?.Dispose();
            }

            return;
        }

        Length += bytes.Length;
        while (true)
        {
            int count = Math.Min(bytes.Length, _array!.Length - _inArray);
            bytes[..count].CopyTo(_array.AsSpan(_inArray));
            _inArray += count;
            bytes = bytes[count..];
            if (bytes.IsEmpty)
            {
                return;
            }

            // Never more than has come already: the length that was announced is only a promise.
            CloseArray();
            int next = Math.Max(bytes.Length, Math.Min(bytes.Length + bytesToCome, Length));
            _array = ArrayPool<byte>.Shared.Rent(next);
            _inArray = 0;
        }
    }

    /// <summary>Where the next bytes of the message may be written, up to so many.</summary>
    public Memory<byte> MakeRoom(int mostBytes)
    {
        if (_inArray == _array!.Length)
        {
            CloseArray();
            _array = ArrayPool<byte>.Shared.Rent(Math.Min(mostBytes, ChunkBytes));
            _inArray = 0;
        }

        return _array.AsMemory(_inArray, Math.Min(mostBytes, _array.Length - _inArray));
    }

    /// <summary>So many bytes were written where <see cref="MakeRoom"/> has said.</summary>
    public void Advance(int bytes)
    {
        _inArray += bytes;
        Length += bytes;
    }

    public ReadOnlySequence<byte> AsSequence()
    {
        if (Last is null)
        {
            return new ReadOnlySequence<byte>(_array!, 0, Length);
        }

        CloseArray();
        return new ReadOnlySequence<byte>(Last.First, 0, Last, Last.Memory.Length);
    }

    /// <summary>An array of exactly the message, which is the caller's. Once.</summary>
    public byte[] TakeArray()
    {
        if (_inArray == Own)
        {
            return _array!;
        }

        byte[] array = GC.AllocateUninitializedArray<byte>(Length);
        AsSequence().CopyTo(array);
        return array;
    }

    /// <summary>Gives the arrays back to the pool. Nothing that points into them may be used afterwards.</summary>
    public void Release()
    {
        if (Last is { } last)
        {
            // The last array is the chain's once it was closed.
            _array = ReferenceEquals(last.Array, _array) ? null : _array;
            PooledSegment.Return(last);
        }

        if (_inArray == Own)
        {
            ((ReceiveReservation?)_more)?.Dispose();
        }
        else if (_array is not null)
        {
            ArrayPool<byte>.Shared.Return(_array);
        }

        this = default;
    }

    private void CloseArray()
    {
        if (Last is { } last && ReferenceEquals(last.Array, _array))
        {
            return;
        }

        _more = PooledSegment.Rent(_array!, _inArray, Last);
    }
}
