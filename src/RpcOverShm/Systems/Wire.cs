using System.Runtime.InteropServices;

namespace RpcOverShm.Systems;

/// <summary>
/// The connection to a peer beside the memory: it carries the hellos with their handles, then doorbells and at most one
/// refusal, and tells the end of the peer, however its process ends. One thread at a time receives. All other members
/// are thread-safe. No member waits for the peer, but for <see cref="IDisposable.Dispose"/>, which may: see
/// <see cref="ForeignHandles"/>.
/// </summary>
internal abstract class Wire : Watchable
{
    /// <summary>The process and user of the peer, as the system names them, never the peer.</summary>
    /// <exception cref="IOException">The system does not say who the peer is.</exception>
    public abstract PeerIdentity Peer { get; }

    /// <summary>
    /// The number of the descriptor, if the system gives the lowest free one and limits them; else 0.
    /// </summary>
    public abstract int Number { get; }

    /// <summary>
    /// Whether only a receive that finds nothing shows that all was received. If not, one that fills less than its
    /// buffer does too.
    /// </summary>
    public abstract bool MustBeDrained { get; }

    /// <summary>
    /// Returns whether the peer has closed its end, or the wire has failed, with no bytes left to receive. Consumes
    /// nothing, so another thread may receive meanwhile.
    /// </summary>
    /// <exception cref="ObjectDisposedException">This side has closed the wire.</exception>
    public abstract bool IsAtEnd { get; }

    /// <summary>Whether a wire that was shut down holds nothing unread, and so no handle of the peer.</summary>
    public abstract bool IsDrained { get; }

    /// <summary>Returns whether the peer is a member of a group, at the time of its connect.</summary>
    /// <exception cref="IOException">The system does not tell.</exception>
    public abstract bool IsMember(Account group);

    /// <summary>Sends a whole message of the handshake, with handles. They stay the caller's.</summary>
    /// <exception cref="IOException">The peer is gone, or does not read.</exception>
    /// <exception cref="SegmentException">The system lacks something; or it lets nothing pass to this peer.</exception>
    public abstract void Send(ReadOnlySpan<byte> message, IReadOnlyList<SafeHandle> handles);

    /// <summary>
    /// Receives the available bytes without waiting. Adds every handle that came with them to
    /// <paramref name="handles"/>, also when it throws. The caller leaves them to <see cref="ForeignHandles"/>.
    /// </summary>
    /// <returns>The number of bytes; 0 at the end of the peer; -1 if nothing is available.</returns>
    /// <exception cref="IOException">The wire has failed.</exception>
    /// <exception cref="SegmentException">
    /// The handles could not be received: too many, or too few are free, or the peer's are none.
    /// </exception>
    /// <exception cref="ObjectDisposedException">This side has closed the wire.</exception>
    public abstract int Receive(Span<byte> buffer, List<SafeHandle> handles);

    /// <summary>
    /// Sends one byte, unless so many are unread that none is needed, or the peer is gone. Returns null, or the reason
    /// of a system that lacks memory for it.
    /// </summary>
    public abstract string? Ring(byte doorbell);

    /// <summary>From now on the peer may pass no more handles. Some systems refuse them at their sender.</summary>
    public abstract void RefuseHandles();

    /// <summary>Limits the memory of what this side sends and the peer does not read.</summary>
    public abstract void LimitUnread(int bytes);

    /// <summary>Ends both directions: the peer sees the end, and operations of this process end. Thread-safe.</summary>
    public abstract void ShutDown();

    /// <summary>
    /// Opens the process at the other end, to hear of its end. Returns null if that is not possible, with the problem.
    /// </summary>
    /// <exception cref="ObjectDisposedException">This side has closed the wire.</exception>
    public abstract WatchedProcess? OpenProcess(out string? problem);
}
