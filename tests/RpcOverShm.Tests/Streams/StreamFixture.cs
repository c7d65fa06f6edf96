using RpcOverShm.Streams;

namespace RpcOverShm.Tests.Streams;

/// <summary>The base of fixtures with the two ends of a byte stream, which it closes after the test.</summary>
public abstract class StreamFixture
{
    private protected StreamPair Streams { get; } = new();

    private protected DuplexBytes One => Streams.One;

    private protected DuplexBytes Other => Streams.Other;

    [TearDown]
    public void Close() => Streams.Dispose();
}
