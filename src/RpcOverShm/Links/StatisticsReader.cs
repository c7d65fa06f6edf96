using System.Diagnostics;
using RpcOverShm.Protocol;
using RpcOverShm.Segments;
using RpcOverShm.Systems;

namespace RpcOverShm.Links;

/// <summary>
/// The statistics of a server in another process, read from the page that it shares. The server writes the page while
/// the socket is open. For one thread at a time.
/// </summary>
internal sealed class StatisticsReader(Wire wire, SharedPage page, PeerIdentity server) : IDisposable
{
    // A write takes some microseconds, unless its thread has no processor meanwhile.
    private static readonly TimeSpan s_longest = TimeSpan.FromSeconds(1);

    private readonly byte[] _content = new byte[SharedPage.ContentBytes];

    /// <summary>The server, as the kernel names it.</summary>
    public PeerIdentity Server => server;

    /// <summary>Whether the server has closed its end: the page does not change any more.</summary>
    public bool HasEnded => wire.IsAtEnd;

    /// <summary>Returns the statistics of the last write.</summary>
    /// <exception cref="ProtocolException">The page is malformed, or is being written without an end.</exception>
    public StatisticsPage Read()
    {
        for (long begun = Stopwatch.GetTimestamp(); Stopwatch.GetElapsedTime(begun) < s_longest; Thread.Yield())
        {
            if (page.TryRead(_content))
            {
                return StatisticsPage.Decode(_content);
            }
        }

        throw new ProtocolException($"The statistics were being written for {s_longest.TotalSeconds} s.");
    }

    public void Dispose()
    {
        ForeignHandles.Shared.Close(wire);
        page.Dispose();
    }
}
