using System.Buffers;
using RpcOverShm.Buffers;
using RpcOverShm.Connections;

namespace RpcOverShm.Calls;

/// <summary>
/// The buffer writer for a large message. Sends the buffer whenever it has the bytes of one record: the peer copies
/// while this side serialises, and both work within their caches. Once a part cannot be sent at once, the rest of the
/// message stays in the buffer. User code writes without any lock held. Not thread-safe.
/// </summary>
internal sealed class MessagePartWriter(PooledBufferWriter bytes) : IBufferWriter<byte>
{
    /// <summary>The minimum length for sending in parts; a shorter message has little to gain.</summary>
    public const int SmallestMessageBytes = 2 * PartBytes;

    /// <summary>The same for a message that exists as bytes and is sent without a copy: over a record.</summary>
    public const int SmallestThatLiesThere = PartBytes + 1;

    private const int PartBytes = FrameWriter.MaxPartBytes;

    private IMessagePartSink? _parts;
    private int _wholeLength;
    private bool _isCollecting;

    /// <summary>The number of bytes that were sent, and so removed from the buffer.</summary>
    public int SentBytes { get; private set; }

    public void Begin(IMessagePartSink parts, int wholeLength)
    {
        _parts = parts;
        _wholeLength = wholeLength;
        _isCollecting = false;
        SentBytes = 0;
        bytes.Reserve(PartBytes);
    }

    /// <summary>Releases the message's destination.</summary>
    public void Clear()
    {
        _parts = null;
        SentBytes = 0;
    }

    /// <summary>Writes the whole message, and sends without a copy what can go at once.</summary>
    public void WriteAll(in ReadOnlySequence<byte> message)
    {
        foreach (ReadOnlyMemory<byte> memory in message)
        {
            ReadOnlySpan<byte> rest = memory.Span;

            // The last byte stays in the buffer: the send that ends the message needs at least one.
            int mayGo = Math.Min(rest.Length, _wholeLength - 1 - SentBytes);
            if (!_isCollecting && mayGo > 0)
            {
                int sent = _parts!.SendPart(rest[..mayGo], _wholeLength);
                SentBytes += sent;
                rest = rest[sent..];
            }

            if (!rest.IsEmpty)
            {
                Collect();
                bytes.Write(rest);
            }
        }
    }

    public void Advance(int count) => bytes.Advance(count);

    public Memory<byte> GetMemory(int sizeHint = 0)
    {
        int most = MakeRoom(sizeHint);
        Memory<byte> memory = bytes.GetMemory(sizeHint);
        return memory.Length > most ? memory[..most] : memory;
    }

    public Span<byte> GetSpan(int sizeHint = 0)
    {
        int most = MakeRoom(sizeHint);
        Span<byte> span = bytes.GetSpan(sizeHint);
        return span.Length > most ? span[..most] : span;
    }

    /// <summary>Sends the buffer if it lacks room for the hint. Returns the maximum length to hand out.</summary>
    private int MakeRoom(int sizeHint)
    {
        int needed = Math.Max(sizeHint, 1);
        if (!_isCollecting && bytes.Length > 0 && bytes.Length + needed > PartBytes)
        {
            Send();
        }

        return _isCollecting ? int.MaxValue : Math.Max(needed, PartBytes - bytes.Length);
    }

    private void Send()
    {
        long rest = (long)_wholeLength - SentBytes - bytes.Length;
        if (rest < 0)
        {
            throw new InvalidOperationException(
                $"The serializer announced a message of {_wholeLength} bytes and wrote {_wholeLength - rest}.");
        }

        if (rest > 0)
        {
            int sent = _parts!.SendPart(bytes.WrittenSpan, _wholeLength);
            SentBytes += sent;
            bytes.RemoveFirst(sent);
        }

        // These are the last bytes, or there is no credit, no space in the ring, or it is another call's turn.
        if (bytes.Length > 0)
        {
            Collect();
        }
    }

    private void Collect()
    {
        if (!_isCollecting)
        {
            _isCollecting = true;
            bytes.Reserve(_wholeLength - SentBytes - bytes.Length);
        }
    }
}

/// <summary>The destination of a large message's parts while the rest is being serialised.</summary>
internal interface IMessagePartSink
{
    /// <summary>
    /// Sends as much of the next part as can go at once. The part never includes the last byte of the message. Never
    /// waits and never throws. Returns the number of bytes sent; the caller keeps the rest.
    /// </summary>
    int SendPart(ReadOnlySpan<byte> part, int wholeLength);
}
