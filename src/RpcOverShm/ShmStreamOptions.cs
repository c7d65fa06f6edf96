using Microsoft.Extensions.Logging;

namespace RpcOverShm;

/// <summary>The settings of a <see cref="ShmStream"/> or a <see cref="ShmStreamListener"/>.</summary>
/// <remarks>
/// <para>
/// The options are read when the stream is connected or the listener is created; later changes have no effect.
/// <see cref="ArgumentException"/> is thrown then if a value is not allowed.
/// </para>
/// <para>Not thread-safe. Nothing to dispose.</para>
/// </remarks>
public sealed class ShmStreamOptions
{
    /// <summary>
    /// Gets or sets the factory of the logger.
    /// <para>Null disables logging.</para>
    /// </summary>
    /// <remarks>Defaults to null. The stream or listener does not dispose the factory.</remarks>
    public ILoggerFactory? LoggerFactory { get; set; }

    /// <summary>
    /// Gets or sets the size, in bytes, of the ring that this side writes: a power of two from 64 KiB to 1 GiB.
    /// </summary>
    /// <remarks>
    /// Defaults to 1 MiB. The ring is the stream's buffer: a write waits while the peer has left this many bytes
    /// unread.
    /// </remarks>
    public int RingCapacity { get; set; } = ShmDefaults.RingCapacity;

    /// <summary>
    /// Gets or sets the time limit for connecting, or for a client's handshake; above zero and below 24 days.
    /// </summary>
    /// <remarks>Defaults to 5 seconds.</remarks>
    public TimeSpan ConnectTimeout { get; set; } = ShmDefaults.ConnectTimeout;

    /// <summary>
    /// Gets or sets the directory in which a name (<c>shm://name</c>) is looked up or created.
    /// <para>
    /// Null means <c>$XDG_RUNTIME_DIR/rpcovershm</c>, or, without that variable, a directory of the user under the
    /// temporary files.
    /// </para>
    /// </summary>
    /// <remarks>Defaults to null. Client and listener must use the same directory.</remarks>
    public string? RuntimeDirectory { get; set; }
}
