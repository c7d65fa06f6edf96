namespace RpcOverShm.Perf.Peer.Loads;

/// <summary>One reader: checks that each message is the one after the last, and every byte. One at a time.</summary>
internal sealed class FeedReader(FeedReaders all)
{
    private FeedSlice? _slice;
    private long _next; // of the slice
    private long _messages;
    private long _wrongBytes;
    private long _gaps;

    public void Take(ReadOnlySpan<byte> payload)
    {
        FeedSlice slice = all.Slice ?? throw new InvalidOperationException("Nothing was to be published.");
        if (slice != _slice)
        {
            _slice = slice;
            _next = _messages = _wrongBytes = _gaps = 0;
        }

        FeedOrder order = slice.Order;
        long index = payload.Length < sizeof(long)
            ? _next
            : BinaryPrimitives.ReadInt64LittleEndian(payload) - order.First;
        _gaps += index == _next ? 0 : 1;
        _wrongBytes += PayloadPattern.CountWrong(payload, order.First + index, order.SizeBytes);
        _next = index + 1;
        _messages++;
        if (index >= 0 && index < order.Messages)
        {
            slice.Note(index);
            if (_next == order.Messages)
            {
                slice.Finish(_messages, _wrongBytes, _gaps);
            }
        }
    }
}
