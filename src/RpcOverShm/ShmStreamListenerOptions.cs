using Microsoft.Extensions.Logging;
using RpcOverShm.Diagnostics;
using RpcOverShm.Links;
using RpcOverShm.Protocol;
using RpcOverShm.Systems;

namespace RpcOverShm;

/// <summary>The settings of a <see cref="ShmStreamListener"/>.</summary>
/// <remarks>
/// <para>
/// The options are read when the listener is created; later changes have no effect. The constructor of
/// <see cref="ShmStreamListener"/> throws <see cref="ArgumentException"/> if a value is not allowed.
/// </para>
/// <para>Not thread-safe. Nothing to dispose.</para>
/// </remarks>
public sealed class ShmStreamListenerOptions
{
    /// <summary>
    /// Gets or sets the factory of the logger.
    /// <para>Null disables logging.</para>
    /// </summary>
    /// <remarks>Defaults to null. The listener does not dispose the factory.</remarks>
    public ILoggerFactory? LoggerFactory { get; set; }

    /// <summary>Gets the clients that are let in, and how many.</summary>
    public ShmListenOptions Listen { get; } = new();

    /// <summary>Gets the sizes of the rings of each stream.</summary>
    public ShmRingOptions Ring { get; } = new();

    /// <summary>
    /// Gets or sets the maximum number of connected clients that wait until the listener accepts them; 1 or more.
    /// </summary>
    /// <remarks>
    /// Defaults to 128. When that many wait and another client connects, those that have left meanwhile are dropped
    /// with what they wrote. If all are still there, the new client is disconnected: its reads and writes throw
    /// <see cref="IOException"/>, and that of a read names this option. So it is with half of them, rounded up, for
    /// each user but the listener's own. Each one that waits costs what a connection costs.
    /// </remarks>
    public int MaxWaitingStreams { get; set; } = ShmDefaults.MaxWaitingStreams;

    /// <summary>Returns the checked settings of a listener at an address.</summary>
    /// <exception cref="ArgumentException">An option is not allowed.</exception>
    internal ConnectionSettings ToConnectionSettings(RendezvousAddress address)
    {
        OptionRanges.AtLeast(1, MaxWaitingStreams, nameof(MaxWaitingStreams));
        return Listen.ToConnectionSettings(
            address,
            ConnectionPurpose.ByteStream,
            Ring,
            Ring.ToPeerLimits(maxMetadataSize: 0, served: null),
            GuardedLogger.Of<ShmStreamListener>(LoggerFactory));
    }
}
