using System.Runtime.InteropServices;
using System.Runtime.Versioning;
using RpcOverShm.Diagnostics;
using RpcOverShm.Systems;

namespace RpcOverShm.Windows;

/// <summary>
/// The wire over a named pipe of bytes. At most one read is in progress, begun by a poll: the system cancels what a
/// thread has begun on a pipe without a port when that thread ends. The read takes what is there, so bytes behind a
/// message wait here. A message of the handshake begins with the values of its handles; see <see cref="HandOver"/>.
/// </summary>
[SupportedOSPlatform("windows")]
internal sealed partial class PipeWire : Wire
{
    private readonly KernelHandle _pipe;
    private readonly bool _isServer;
    private readonly long _acceptedAt = TimeProvider.System.GetUtcNow().ToFileTime();
    private readonly UninterruptibleLock _peerLock = new();
    private PipePeer? _peer;
    private volatile bool _isShutDown;
    private bool _isDisposed; // under both locks

    /// <param name="pipe">The connected pipe, which the wire then owns.</param>
    /// <param name="isServer">Whether this side accepted the connection.</param>
    public PipeWire(KernelHandle pipe, bool isServer)
    {
        _pipe = pipe;
        _isServer = isServer;
    }

    public override SafeHandle Handle => _pipe;

    public override PeerIdentity Peer => Other.Identity;

    public override int Number => 0;

    public override bool MustBeDrained => true;

    public override bool IsDrained => true; // The handles of a peer are only numbers in a pipe.

    private PipePeer Other
    {
        get
        {
            using (_peerLock.Enter())
            {
                return _peer ??= _isServer ? PipePeer.OfClient(_pipe, _acceptedAt) : PipePeer.OfServer(_pipe);
            }
        }
    }

    public override bool IsMember(Account group) => Other.IsMember(group);

    public override void RefuseHandles()
    {
        // Handles come with the first message of a side only.
    }

    public override void LimitUnread(int bytes)
    {
        // The size of the pipe's buffers is the limit.
    }

    public override void ShutDown()
    {
        if (!_isServer)
        {
            CloseUnread();
        }

        // The close ends what is in progress, and the peer reads what was sent before it sees the end. A pipe that is
        // disconnected would lose that.
        _isShutDown = true;
        _pipe.Dispose();
    }

    public override WatchedProcess? OpenProcess(out string? problem)
    {
        ObjectDisposedException.ThrowIf(_isShutDown, this);
        try
        {
            return Other.OpenProcess(out problem);
        }
        catch (IOException exception)
        {
            problem = exception.Message;
            return null;
        }
    }

    public override void Dispose()
    {
        ShutDown();
        using (_sendLock.Enter())
        using (_lock.Enter())
        {
            if (_isDisposed)
            {
                return;
            }

            if (_portKey is null)
            {
                EndRead();
            }

            // The memory of a read at a port that nobody has cancelled is left to the system.
            _isDisposed = true;
            _read.Dispose();
            _ring.Dispose();
            WithdrawOffer();
        }

        using (_peerLock.Enter())
        {
            _peer?.Dispose();
        }
    }
}
