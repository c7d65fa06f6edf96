using System.Net.Sockets;
using Microsoft.Extensions.Logging.Abstractions;
using RpcOverShm.Protocol;
using RpcOverShm.Segments;

namespace RpcOverShm.Links;

/// <summary>
/// The statistics of a server in another process, read from the page that it shares. The server writes the page while
/// the socket is open. For one thread at a time.
/// </summary>
internal sealed class StatisticsReader(Socket socket, SharedPage page, PeerIdentity server) : IDisposable
{
    // A write takes some microseconds, so a server that lives is met between two of them.
    private const int MostTries = 1000;

    private readonly byte[] _content = new byte[SharedPage.ContentBytes];

    /// <summary>Opens the statistics of the server at an address, whose user must be this process's or root.</summary>
    /// <param name="address">The address.</param>
    /// <param name="timeout">The time limit.</param>
    /// <param name="cancellationToken">Stops the attempt.</param>
    /// <exception cref="ConnectException">
    /// There is no server, or it lets this process not read them, or it has none (PurposeMismatch).
    /// </exception>
    /// <exception cref="OperationCanceledException">The token was cancelled.</exception>
    /// <exception cref="PlatformNotSupportedException">There is no transport for this system.</exception>
    public static Task<StatisticsReader> OpenAsync(
        RendezvousAddress address, TimeSpan timeout, CancellationToken cancellationToken)
    {
        // Nothing but the purpose matters: no call and no byte goes over this connection.
        var settings = new ConnectionSettings
        {
            Purpose = ConnectionPurpose.Statistics,
            Limits = new PeerLimits(SegmentLayout.MinRingCapacityBytes, PeerLimits.SmallestCallWindow, 0, 0),
            ConnectTimeout = timeout,
            Logger = NullLogger.Instance,
        };
        return ClientHandshake.OpenStatisticsAsync(address, settings, cancellationToken);
    }

    /// <summary>The server, as the kernel names it.</summary>
    public PeerIdentity Server => server;

    /// <summary>Whether the server has closed its end: the page does not change any more.</summary>
    public bool HasEnded => DescriptorPassing.IsAtEnd(socket);

    /// <summary>Returns the statistics of the last write.</summary>
    /// <exception cref="ProtocolException">The page is malformed, or is being written without an end.</exception>
    public StatisticsPage Read()
    {
        for (int tries = 0; tries < MostTries; tries++)
        {
            if (page.TryRead(_content))
            {
                return StatisticsPage.Decode(_content);
            }

            Thread.Yield();
        }

        throw new ProtocolException($"The statistics changed in each of {MostTries} reads.");
    }

    public void Dispose()
    {
        ForeignHandles.Shared.Close(socket);
        page.Dispose();
    }
}
