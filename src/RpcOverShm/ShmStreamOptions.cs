using Microsoft.Extensions.Logging;

namespace RpcOverShm;

/// <summary>
/// Settings of a <see cref="ShmStream"/> or a <see cref="ShmStreamListener"/>. Read when the stream is connected
/// or the listener made; later changes have no effect. Values that are not allowed are refused then,
/// with an <see cref="ArgumentException"/>.
/// </summary>
public sealed class ShmStreamOptions
{
    /// <summary>Where the stream or listener logs. Default null: nowhere.</summary>
    public ILoggerFactory? LoggerFactory { get; set; }

    /// <summary>
    /// The size, in bytes, of the ring that this side writes: a power of two from 64 KiB to 1 GiB. Default 1 MiB. It is
    /// the buffer of the stream: writing waits when the peer has left this much unread.
    /// </summary>
    public int RingCapacity { get; set; } = ShmDefaults.RingCapacity;

    /// <summary>
    /// How long connecting may take, or a client of a listener for the handshake. Default 5 s; above zero.
    /// </summary>
    public TimeSpan ConnectTimeout { get; set; } = ShmDefaults.ConnectTimeout;

    /// <summary>
    /// The directory in which a name (<c>shm://name</c>) is looked up or made. Default null:
    /// <c>$XDG_RUNTIME_DIR/rpcovershm</c>, else a directory of the user's own under the temporary files. Both sides
    /// must mean the same directory.
    /// </summary>
    public string? RuntimeDirectory { get; set; }
}
