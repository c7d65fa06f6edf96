namespace RpcOverShm.Perf.Peer.Arms;

/// <summary>One stream of two: reads from one and writes to the other. Owns both.</summary>
internal sealed class DuplexStream(Stream reader, Stream writer) : Stream
{
    public override bool CanRead => true;

    public override bool CanWrite => true;

    public override bool CanSeek => false;

    public override long Length => throw new NotSupportedException();

    public override long Position
    {
        get => throw new NotSupportedException();
        set => throw new NotSupportedException();
    }

    public override int Read(Span<byte> buffer) => reader.Read(buffer);

    public override int Read(byte[] buffer, int offset, int count) => reader.Read(buffer, offset, count);

    public override ValueTask<int> ReadAsync(Memory<byte> buffer, CancellationToken cancellationToken = default) =>
        reader.ReadAsync(buffer, cancellationToken);

    public override void Write(ReadOnlySpan<byte> buffer) => writer.Write(buffer);

    public override void Write(byte[] buffer, int offset, int count) => writer.Write(buffer, offset, count);

    public override ValueTask WriteAsync(
        ReadOnlyMemory<byte> buffer, CancellationToken cancellationToken = default) =>
        writer.WriteAsync(buffer, cancellationToken);

    public override void Flush() => writer.Flush();

    public override long Seek(long offset, SeekOrigin origin) => throw new NotSupportedException();

    public override void SetLength(long value) => throw new NotSupportedException();

    protected override void Dispose(bool disposing)
    {
        if (disposing)
        {
            reader.Dispose();
            writer.Dispose();
        }

        base.Dispose(disposing);
    }
}
