using RpcOverShm.Protocol;
using RpcOverShm.Streams;
using RpcOverShm.Tests.Links;

namespace RpcOverShm.Tests.Streams;

/// <summary>The two ends of a byte stream, both in this process.</summary>
internal sealed class StreamPair : IDisposable
{
    public StreamPair()
    {
        One = new DuplexBytes(Links.Client);
        Other = new DuplexBytes(Links.Server);
    }

    public LinkPair Links { get; } = new(purpose: ConnectionPurpose.ByteStream);

    public DuplexBytes One { get; }

    public DuplexBytes Other { get; }

    public void Dispose()
    {
        One.Close();
        Other.Close();
        Links.Dispose();
    }
}

/// <summary>Reads and writes of both kinds: blocking ones end before they return.</summary>
internal static class StreamCalls
{
    public static async Task WriteAllAsync(this DuplexBytes stream, ReadOnlyMemory<byte> bytes, bool isBlocking)
    {
        if (isBlocking)
        {
            stream.Write(bytes.Span);
        }
        else
        {
            await stream.WriteAsync(bytes, CancellationToken.None);
        }
    }

    public static async Task<int> ReadAsync(this DuplexBytes stream, Memory<byte> buffer, bool isBlocking) =>
        isBlocking ? stream.Read(buffer.Span) : await stream.ReadAsync(buffer, CancellationToken.None);
}
