namespace RpcOverShm.Perf.Peer.Arms;

/// <summary>
/// Takes frames, and bytes between them, from a stream by reads of as much as there is. One thread at a time; the two
/// forms can change from call to call.
/// </summary>
internal sealed class FrameStream(Stream stream)
{
    private readonly FrameBuffer _frames = new();

    public Stream Stream => stream;

    /// <summary>The frame taken, its length included.</summary>
    public ReadOnlyMemory<byte> Frame => _frames.Frame;

    public ReadOnlySpan<byte> Payload => _frames.Payload;

    /// <summary>Takes the next frame; false at the end of the stream.</summary>
    public bool TryRead()
    {
        while (!_frames.TryTake())
        {
            if (!Added(stream.Read(_frames.Free.Span)))
            {
                return false;
            }
        }

        return true;
    }

    /// <inheritdoc cref="TryRead"/>
    public async ValueTask<bool> TryReadAsync()
    {
        while (!_frames.TryTake())
        {
            if (!Added(await stream.ReadAsync(_frames.Free)))
            {
                return false;
            }
        }

        return true;
    }

    /// <summary>Takes bytes that are no frame; false at the end of the stream.</summary>
    public bool TryReadBytes(byte[] target)
    {
        while (!_frames.TryTakeBytes(target))
        {
            if (!Added(stream.Read(_frames.Free.Span)))
            {
                return false;
            }
        }

        return true;
    }

    /// <inheritdoc cref="TryReadBytes"/>
    public async ValueTask<bool> TryReadBytesAsync(byte[] target)
    {
        while (!_frames.TryTakeBytes(target))
        {
            if (!Added(await stream.ReadAsync(_frames.Free)))
            {
                return false;
            }
        }

        return true;
    }

    private bool Added(int count)
    {
        _frames.Add(count);
        return count != 0;
    }
}
