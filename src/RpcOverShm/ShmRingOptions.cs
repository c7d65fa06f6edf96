using RpcOverShm.Protocol;
using RpcOverShm.Servers;

namespace RpcOverShm;

/// <summary>The sizes of the rings of a connection: a group of options.</summary>
/// <remarks>Read with the options that it is in. Not thread-safe. Nothing to dispose.</remarks>
public sealed class ShmRingOptions
{
    /// <summary>
    /// Gets or sets the size, in bytes, to which the ring that this side writes can grow: a power of two from 64 KiB to
    /// 1 GiB.
    /// </summary>
    /// <remarks>
    /// <para>
    /// Defaults to 1 MiB, which fits into the L2 cache of current processors. The ring of a connection begins with
    /// 64 KiB. When that is full while the peer reads, or when a message has more than 8 KiB, the ring grows to this
    /// size and stays so until the connection ends; the first 64 KiB are kept too. On Linux before 5.14 it has all its
    /// memory at once.
    /// </para>
    /// <para>
    /// The ring of a byte stream is its buffer: a write waits while the peer has left this many bytes unread. It grows
    /// when its first 64 KiB are full.
    /// </para>
    /// </remarks>
    public int Capacity { get; set; } = ShmDefaults.RingCapacity;

    /// <summary>
    /// Gets or sets the maximum size, in bytes, of the ring that the peer may write: a power of two from 64 KiB to
    /// 1 GiB.
    /// </summary>
    /// <remarks>
    /// Defaults to 16 MiB. A peer with a larger ring is refused, and the reason names this option. The peer's ring is
    /// its own memory, but each connection maps it here too.
    /// </remarks>
    public int MaxPeerCapacity { get; set; } = ShmDefaults.MaxPeerRingCapacity;

    /// <summary>Returns what this side announces to its peer.</summary>
    /// <param name="maxMetadataSize">The checked option of that name.</param>
    /// <param name="served">The limits of the calls that this side serves; null if it serves none.</param>
    /// <exception cref="ArgumentException">A size is not allowed.</exception>
    internal PeerLimits ToPeerLimits(int maxMetadataSize, ServerLimits? served)
    {
        OptionRanges.Ring(Capacity, $"{nameof(ShmServerOptions.Ring)}.{nameof(Capacity)}");
        OptionRanges.Ring(MaxPeerCapacity, $"{nameof(ShmServerOptions.Ring)}.{nameof(MaxPeerCapacity)}");
        return new PeerLimits(
            Capacity, ShmDefaults.CallWindow, MaxCalls: served?.MaxAcceptedCalls ?? 0, (uint)maxMetadataSize)
        {
            MaxRunning = (uint)(served?.MaxCallsPerConnection ?? 0),
        };
    }
}
