using RpcOverShm.Protocol;
using RpcOverShm.Streams;
using RpcOverShm.Tests.Links;

namespace RpcOverShm.Tests.Streams;

/// <summary>The two ends of a byte stream, both in this process.</summary>
internal sealed class StreamPair : IDisposable
{
    public StreamPair(int ring = LinkPair.SmallRing)
    {
        Links = new LinkPair(ring, ring, purpose: ConnectionPurpose.ByteStream);
        One = new DuplexBytes(Links.Client);
        Other = new DuplexBytes(Links.Server);
    }

    public LinkPair Links { get; }

    public DuplexBytes One { get; }

    public DuplexBytes Other { get; }

    public void Dispose()
    {
        One.Close();
        Other.Close();
        Links.Dispose();
    }
}
