namespace RpcOverShm.Perf.Peer.Arms;

/// <summary>
/// Takes frames, and bytes between them, from a stream by large reads, and writes to it. With a blocking caller nothing
/// is ever awaited: each method has done its work, in the caller's thread, when it returns. One thread at a time.
/// </summary>
internal sealed class FrameStream(Stream stream, CallerKind caller)
{
    private readonly FrameBuffer _frames = new();

    /// <summary>The frame taken, its length included.</summary>
    public ReadOnlyMemory<byte> Frame => _frames.Frame;

    public ReadOnlySpan<byte> Payload => _frames.Payload;

    public ValueTask WriteAsync(ReadOnlyMemory<byte> bytes)
    {
        if (caller == CallerKind.Async)
        {
            return stream.WriteAsync(bytes);
        }

        stream.Write(bytes.Span);
        return ValueTask.CompletedTask;
    }

    /// <summary>Takes the next frame; false at the end of the stream.</summary>
    public ValueTask<bool> TryReadAsync() => _frames.TryTake() ? ValueTask.FromResult(true) : ReadAndTakeAsync();

    /// <summary>Takes bytes that are no frame; false at the end of the stream.</summary>
    public async ValueTask<bool> TryReadBytesAsync(byte[] target)
    {
        while (!_frames.TryTakeBytes(target))
        {
            if (!Add(await ReadAsync()))
            {
                return false;
            }
        }

        return true;
    }

    /// <summary>Takes the next frame if all of it was read.</summary>
    public bool TryTake() => _frames.TryTake();

    /// <summary>Reads as much as there is, for <see cref="Add"/>.</summary>
    public ValueTask<int> ReadAsync() => caller == CallerKind.Async
        ? stream.ReadAsync(_frames.Free)
        : ValueTask.FromResult(stream.Read(_frames.Free.Span));

    /// <summary>Adds bytes that were read; false at the end of the stream.</summary>
    public bool Add(int count)
    {
        _frames.Add(count);
        return count != 0;
    }

    private async ValueTask<bool> ReadAndTakeAsync()
    {
        do
        {
            if (!Add(await ReadAsync()))
            {
                return false;
            }
        }
        while (!_frames.TryTake());
        return true;
    }
}
