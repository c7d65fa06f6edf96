using Microsoft.Extensions.Logging;
using RpcOverShm.Diagnostics;
using RpcOverShm.Links;
using RpcOverShm.Protocol;

namespace RpcOverShm;

/// <summary>The settings of a <see cref="ShmStream"/> that connects to a <see cref="ShmStreamListener"/>.</summary>
/// <remarks>
/// <para>
/// The options are read when the stream is connected; later changes have no effect.
/// <see cref="ShmStream.ConnectAsync"/> throws <see cref="ArgumentException"/> if a value is not allowed.
/// </para>
/// <para>Not thread-safe. Nothing to dispose.</para>
/// </remarks>
public sealed class ShmStreamOptions
{
    /// <summary>
    /// Gets or sets the factory of the logger.
    /// <para>Null disables logging.</para>
    /// </summary>
    /// <remarks>Defaults to null. The stream does not dispose the factory.</remarks>
    public ILoggerFactory? LoggerFactory { get; set; }

    /// <summary>Gets the way to the listener.</summary>
    public ShmConnectOptions Connect { get; } = new();

    /// <summary>Gets the sizes of the stream's rings.</summary>
    public ShmRingOptions Ring { get; } = new();

    /// <summary>Returns the checked settings.</summary>
    /// <exception cref="ArgumentException">An option is not allowed.</exception>
    internal ConnectionSettings ToConnectionSettings() => Connect.ToConnectionSettings(
        ConnectionPurpose.ByteStream,
        Ring,
        Ring.ToPeerLimits(maxMetadataSize: 0, served: null),
        GuardedLogger.Of<ShmStream>(LoggerFactory));
}
