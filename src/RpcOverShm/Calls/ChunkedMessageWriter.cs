using System.Buffers;
using RpcOverShm.Protocol;
using RpcOverShm.Sending;

namespace RpcOverShm.Calls;

/// <summary>
/// What the marshaller of a large message writes to: a buffer of one chunk, which is sent whenever it is full, so that
/// the peer copies while this side serialises, and both do it within their caches. Once a part cannot go at once, the
/// rest is collected. Holds nothing while user code writes. Used by one thread.
/// </summary>
internal sealed class ChunkedMessageWriter(PooledBufferWriter bytes) : IBufferWriter<byte>
{
    /// <summary>A shorter message is collected whole: there is little to gain.</summary>
    public const int SmallestMessageBytes = 2 * PartBytes;

    /// <summary>The same for bytes that are there already and sent from where they lie: more than a record.</summary>
    public const int SmallestThatLiesThere = PartBytes + 1;

    private const int PartBytes = FrameWriter.ChunkBytes;

    private IMessageChunkSink? _parts;
    private int _wholeLength;
    private bool _isCollecting;

    /// <summary>How many bytes were sent; they are no longer in the buffer.</summary>
    public int SentBytes { get; private set; }

    /// <param name="parts">Where the parts go.</param>
    /// <param name="wholeLength">How many bytes there will be.</param>
    public void Begin(IMessageChunkSink parts, int wholeLength)
    {
        _parts = parts;
        _wholeLength = wholeLength;
        _isCollecting = false;
        SentBytes = 0;
        bytes.Reserve(PartBytes);
    }

    /// <summary>Forgets the message.</summary>
    public void Clear()
    {
        _parts = null;
        SentBytes = 0;
    }

    /// <summary>The whole message at once: what can go at once is sent from where it lies.</summary>
    public void WriteAll(in ReadOnlySequence<byte> message)
    {
        foreach (ReadOnlyMemory<byte> memory in message)
        {
            ReadOnlySpan<byte> rest = memory.Span;

            // The last byte stays: it goes with what follows the message.
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

    /// <summary>Sends the buffer when it has no room for so many bytes. Gives the most to be handed out.</summary>
    private int MakeRoom(int sizeHint)
    {
        int wanted = Math.Max(sizeHint, 1);
        if (!_isCollecting && bytes.Length > 0 && bytes.Length + wanted > PartBytes)
        {
            Send();
        }

        return _isCollecting ? int.MaxValue : Math.Max(wanted, PartBytes - bytes.Length);
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

        // At the end of the message, or without credit, space or turn.
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

/// <summary>Where the parts of a large message go while the rest of it is being serialised.</summary>
internal interface IMessageChunkSink
{
    /// <summary>Sends as much of the next part as can go at once; never waits and never throws.</summary>
    /// <param name="part">The bytes behind those that were sent. The end of the message is never among them.</param>
    /// <param name="wholeLength">How long the whole message will be.</param>
    /// <returns>How many bytes were sent; the caller keeps the others.</returns>
    int SendPart(ReadOnlySpan<byte> part, int wholeLength);
}
