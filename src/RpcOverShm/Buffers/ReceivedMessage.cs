using System.Buffers;

namespace RpcOverShm.Buffers;

/// <summary>
/// The bytes of one received message in private memory. They lie in one pooled array, in a chain of pooled arrays for a
/// large message that grew with its parts, or in the very array that the marshaller will take. Those of a message that
/// the peer lends lie in its memory, behind the first ones. The owner releases them once. Not thread-safe.
/// </summary>
internal struct ReceivedMessage
{
    /// <summary>The size of the pool's largest array that is not a large object.</summary>
    public const int ChunkBytes = 64 << 10;

    /// <summary>The objects of a shared piece, which count as its bytes: those lie in memory of the peer.</summary>
    public const int PieceBytes = 256;

    /// <summary>The minimum length for using the access hint; copying a shorter message once more is cheaper.</summary>
    public const int SmallestArrayBytes = 1 << 10;

    // The largest array of a chain, so that the last one, which may stay unused, costs little.
    private const int LargestInChain = 1 << 20;

    // A value of _inArray: the array has the message's exact length, and is not pooled.
    private const int Own = -1;

    // A value of _inArray: the array has the bytes before a shared piece.
    private const int BeforePiece = -2;

    // A value of _inArray: no message, but the source of the next ones.
    private const int OfSource = -3;

    private byte[]? _array;  // the only array, or the last of a chain
    private object? _more;   // the chain's last segment, which knows the first; an own array's reservation; or a piece
    private int _inArray;    // bytes in the last array, or Own or BeforePiece

    public ReceivedMessage(ReadOnlySpan<byte> bytes)
        : this(bytes.Length)
    {
        Append(bytes, 0);
    }

    public ReceivedMessage(int firstBytes) => _array = ByteArrays.Rent(Math.Max(firstBytes, 1));

    /// <summary>Returns a message that has come whole, in an array of its own if the hint says so.</summary>
    public static ReceivedMessage Of(ReadOnlySpan<byte> bytes, PayloadAccessHint hint)
    {
        ReceivedMessage whole = ToCome(bytes.Length, bytes.Length, hint);
        whole.Append(bytes, 0);
        return whole;
    }

    /// <summary>
    /// Makes room for a message. The room is for the bytes that have come, because an announcement costs the peer
    /// nothing. It is for the whole message if the marshaller takes an array and a reservation succeeds.
    /// </summary>
    public static ReceivedMessage ToCome(int wholeBytes, int firstBytes, PayloadAccessHint hint)
    {
        ReceiveReservation? promise = null;
        if (wholeBytes < SmallestArrayBytes
            || !hint.IsAsArray
            || (firstBytes < wholeBytes && (promise = ReceiveReservation.TryMake(wholeBytes)) is null))
        {
            return new ReceivedMessage(firstBytes);
        }

        // Every byte is written before it is read, and zeroing a large array costs as much as the copy.
        return new ReceivedMessage
        {
            _array = GC.AllocateUninitializedArray<byte>(wholeBytes),
            _more = promise,
            _inArray = Own,
        };
    }

    /// <summary>Returns a message that ends with a shared piece, whose owner it becomes.</summary>
    public static ReceivedMessage OfPiece(ReadOnlySpan<byte> before, SharedPiece piece)
    {
        byte[] array = before.IsEmpty ? [] : ByteArrays.Rent(before.Length);
        before.CopyTo(array);
        return new ReceivedMessage
        {
            _array = array,
            _more = piece,
            _inArray = BeforePiece,
            Length = before.Length + piece.Length,
        };
    }

    /// <summary>Returns the place of the messages that come from a source, whose owner it becomes.</summary>
    public static ReceivedMessage From(MessageSource source) =>
        new() { _array = [], _more = source, _inArray = OfSource };

    /// <summary>Copies bytes into arrays of which none is a large object.</summary>
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

    /// <summary>The number of bytes that have come.</summary>
    public int Length { get; private set; }

    /// <summary>The bytes of its arrays: those that have come, and the room in the last array.</summary>
    public readonly int KeptBytes => _inArray switch
    {
        Own => Length,
        BeforePiece => _array!.Length + PieceBytes,
        OfSource => PieceBytes,
        _ => Length + (_array?.Length ?? 0) - _inArray,
    };

    public readonly bool IsEmpty => _array is null;

    /// <summary>Whether it ends with a piece of the peer's memory.</summary>
    public readonly bool IsLoaned => _inArray == BeforePiece;

    /// <summary>The source of the next messages, if it is the place of one; else null.</summary>
    public readonly MessageSource? Source => _inArray == OfSource ? (MessageSource)_more! : null;

    private readonly PooledSegment? Last => _more as PooledSegment;

    /// <summary>
    /// Appends a part of the message. A new array gets room for <paramref name="bytesToCome"/> more bytes.
    /// </summary>
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

            // Room for at most as much again as has come, because the announced length is only a promise.
            CloseArray();
            int next = Math.Min(bytes.Length + bytesToCome, Math.Min(Length, LargestInChain));
            next = Math.Max(bytes.Length, next);
            _array = ByteArrays.Rent(next);
            _inArray = 0;
        }
    }

    /// <summary>Returns room for the next bytes of the message, at most <paramref name="mostBytes"/>.</summary>
    public Memory<byte> MakeRoom(int mostBytes)
    {
        if (_inArray == _array!.Length)
        {
            CloseArray();
            _array = ByteArrays.Rent(Math.Min(mostBytes, ChunkBytes));
            _inArray = 0;
        }

        return _array.AsMemory(_inArray, Math.Min(mostBytes, _array.Length - _inArray));
    }

    /// <summary>Returns the room for all bytes of a new message, whose array was made for them.</summary>
    public readonly Span<byte> GetRoom(int bytes) => _array.AsSpan(0, bytes);

    /// <summary>
    /// Adds the bytes that the caller has written into the result of <see cref="MakeRoom"/> or <see cref="GetRoom"/>.
    /// </summary>
    public void Advance(int bytes)
    {
        _inArray += _inArray == Own ? 0 : bytes;
        Length += bytes;
    }

    public ReadOnlySequence<byte> AsSequence()
    {
        if (_inArray == BeforePiece)
        {
            return PieceSegment.Join(_array.AsMemory(0, Length - ((SharedPiece)_more!).Length), (SharedPiece)_more);
        }

        if (Last is null)
        {
            return new ReadOnlySequence<byte>(_array!, 0, Length);
        }

        CloseArray();
        return new ReadOnlySequence<byte>(Last.First, 0, Last, Last.Memory.Length);
    }

    /// <summary>Copies the bytes if some lie in memory of the peer, which is given back then.</summary>
    public void CopyIfLoaned()
    {
        if (IsLoaned)
        {
            ReceivedMessage copy = InChunks(AsSequence());
            Release();
            this = copy;
        }
    }

    /// <summary>Returns an array of exactly the message, which the caller owns. Called at most once.</summary>
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

    /// <summary>Returns the arrays to the pool. The bytes must not be used afterwards.</summary>
    public void Release()
    {
        if (Last is { } last)
        {
            // The chain has returned the last array too if CloseArray has added it.
            _array = ReferenceEquals(last.Array, _array) ? null : _array;
            PooledSegment.Return(last);
        }

        if (_inArray is BeforePiece or OfSource)
        {
            ((IDisposable)_more!).Dispose();
            _array = _array!.Length == 0 ? null : _array;
        }

        if (_inArray == Own)
        {
            ((ReceiveReservation?)_more)?.Dispose();
        }
        else if (_array is not null)
        {
            ByteArrays.Return(_array);
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
