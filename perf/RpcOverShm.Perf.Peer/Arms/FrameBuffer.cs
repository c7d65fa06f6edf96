namespace RpcOverShm.Perf.Peer.Arms;

/// <summary>
/// Cuts the bytes of a stream into frames: a length of four bytes, and the payload. Frames stay where they were read.
/// One thread at a time.
/// </summary>
internal sealed class FrameBuffer
{
    private const int FirstCapacity = 256 << 10;

    private byte[] _bytes = new byte[FirstCapacity];
    private int _start;  // of the frame taken, or of what is not a whole frame yet
    private int _length; // of the frame taken; 0 for none
    private int _end;    // of what was read

    /// <summary>The frame taken, its length included.</summary>
    public ReadOnlyMemory<byte> Frame => _bytes.AsMemory(_start, _length);

    public ReadOnlySpan<byte> Payload => Frame.Span[ByteStreamServer.LengthBytes..];

    /// <summary>The memory for the next bytes; never empty.</summary>
    public Memory<byte> Free => _bytes.AsMemory(_end);

    public void Add(int count) => _end += count;

    /// <summary>Leaves the last frame behind and takes the next; false when more must be read first.</summary>
    public bool TryTake()
    {
        _start += _length;
        _length = 0;
        int available = _end - _start;
        if (available >= ByteStreamServer.LengthBytes)
        {
            int payload = BinaryPrimitives.ReadInt32LittleEndian(_bytes.AsSpan(_start));
            if (payload < 0)
            {
                throw new InvalidDataException($"A frame has a length of {payload} bytes.");
            }

            int frame = ByteStreamServer.LengthBytes + payload;
            if (frame <= available)
            {
                _length = frame;
                return true;
            }

            MakeRoom(frame);
        }
        else
        {
            MakeRoom(ByteStreamServer.LengthBytes);
        }

        return false;
    }

    /// <summary>Leaves the last frame behind and takes bytes that are no frame; false when more must be read.</summary>
    public bool TryTakeBytes(Span<byte> target)
    {
        _start += _length;
        _length = 0;
        if (_end - _start < target.Length)
        {
            MakeRoom(target.Length);
            return false;
        }

        _bytes.AsSpan(_start, target.Length).CopyTo(target);
        _start += target.Length;
        return true;
    }

    // An empty buffer starts over at no cost; the beginning of a frame is moved only if the rest has no room behind it.
    private void MakeRoom(int frame)
    {
        if (_start == _end)
        {
            _start = _end = 0;
        }

        if (_start + frame <= _bytes.Length)
        {
            return;
        }

        byte[] target = frame <= _bytes.Length ? _bytes : new byte[frame];
        _bytes.AsSpan(_start.._end).CopyTo(target);
        _bytes = target;
        _end -= _start;
        _start = 0;
    }
}
