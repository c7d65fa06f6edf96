using System.Net.Sockets;
using Microsoft.Extensions.Logging;
using RpcOverShm.Diagnostics;
using RpcOverShm.Protocol;
using RpcOverShm.Rings;
using RpcOverShm.Scheduling;
using RpcOverShm.Segments;
using RpcOverShm.Signals;

namespace RpcOverShm.Links;

/// <summary>
/// What a finished handshake leaves: the rendezvous socket, two segments with a ring each, the signal to sleep
/// and wake by, and who the peer is. Owns all of it. Knows nothing of calls or streams; the connection on top
/// reads and writes the rings.
/// <para>
/// Closing is one step, the first reason wins. The memory goes later, when its last user has left: the reading side and
/// the writing side each leave once for all, and a thread that touches a word in passing enters and leaves around it.
/// </para>
/// </summary>
internal sealed class PeerLink
{
    private readonly Socket _socket;
    private readonly SharedSegment _own;
    private readonly SharedSegment _peer;
    private readonly FutexSignal _signal;
    private readonly ILogger _logger;
    private CloseReason? _closeReason;
    private Action? _onEvent;
    private volatile bool _isPeerGone;
    private volatile bool _isPeerLeaving;
    private int _users = 2;          // the reading side, the writing side, and passers-by
    private long _lostWakeups;       // time-outs that found data: must stay 0

    public PeerLink(
        Socket socket,
        SharedSegment own,
        SharedSegment peer,
        PeerIdentity identity,
        Guid connectionId,
        ConnectionSettings settings,
        PeerLimits peerLimits,
        bool isAcceptor)
    {
        _socket = socket;
        _own = own;
        _peer = peer;
        _signal = new FutexSignal(FutexSignal.IsWaitvSupported);
        _logger = settings.Logger;
        Identity = identity;
        ConnectionId = connectionId;
        OwnLimits = settings.Limits;
        PeerLimits = peerLimits;
        IsAcceptor = isAcceptor;
        Writer = new RingWriter(own, peer);
        Reader = new RingReader(own, peer);
    }

    public PeerIdentity Identity { get; }

    public Guid ConnectionId { get; }

    public PeerLimits OwnLimits { get; }

    public PeerLimits PeerLimits { get; }

    /// <summary>True on the side that accepted the connection.</summary>
    public bool IsAcceptor { get; }

    /// <summary>
    /// The ring that this side writes. Used by one thread at a time, before the writing side has left.
    /// </summary>
    public RingWriter Writer { get; }

    /// <summary>
    /// The ring that this side reads. Used by one thread at a time, before the reading side has left.
    /// </summary>
    public RingReader Reader { get; }

    /// <summary>Null while the connection is open.</summary>
    public CloseReason? CloseReason => Volatile.Read(ref _closeReason);

    public bool IsClosed => CloseReason is not null;

    /// <summary>
    /// True when the peer's end of the socket is closed. What it wrote before is still to be read; whoever reads closes
    /// the link once nothing is left.
    /// </summary>
    public bool IsPeerGone => _isPeerGone;

    /// <summary>Set when the peer has announced its close: then its end is no loss.</summary>
    public bool IsPeerLeaving
    {
        get => _isPeerLeaving;
        set => _isPeerLeaving = value;
    }

    /// <summary>Sampled before a thread looks at what it waits for; see <see cref="ISignal.LocalEvents"/>.</summary>
    public uint LocalEvents => _signal.LocalEvents;

    /// <summary>How often a time-out, and not a ring, found data. Anything but 0 is a lost wake-up.</summary>
    public long LostWakeups => Interlocked.Read(ref _lostWakeups);

    /// <summary>
    /// Starts watching the socket. The action runs when the link closes and when the peer's end does.
    /// </summary>
    public void Start(Action onEvent)
    {
        _onEvent = onEvent;
        ShmLog.ConnectionOpened(_logger, ConnectionId, Identity.ToString());
        _ = WatchPeerAsync();
    }

    /// <summary>Sleeps until the peer has written past the position, a local event, or the backstop.</summary>
    /// <returns>False when the backstop ended the sleep.</returns>
    public bool SleepForData(long position, uint localEventsSeen) =>
        SleepForData(position, localEventsSeen, WaitBounds.SafetyTimeout);

    /// <summary>The same, with another bound.</summary>
    public bool SleepForData(long position, uint localEventsSeen, TimeSpan bound) =>
        _signal.Wait(new SharedWord(ref _peer.Tail), SharedWord.LowHalf(position), localEventsSeen, bound);

    /// <summary>Sleeps until the peer has read past the head, a local event, or the backstop.</summary>
    public void SleepForSpace(long head, uint localEventsSeen) =>
        _signal.Wait(
            new SharedWord(ref _peer.Head), SharedWord.LowHalf(head), localEventsSeen, WaitBounds.SafetyTimeout);

    /// <summary>Wakes whoever in the peer sleeps for data that this side writes.</summary>
    public void WakePeerForData() => _signal.Wake(new SharedWord(ref _own.Tail));

    /// <summary>Wakes whoever in the peer sleeps for space that this side frees.</summary>
    public void WakePeerForSpace() => _signal.Wake(new SharedWord(ref _own.Head));

    /// <summary>Wakes the threads of this side that sleep for data, though none may have come.</summary>
    public void WakeOwnReaders() => _signal.Wake(new SharedWord(ref _peer.Tail));

    /// <summary>Makes every thread of this side that sleeps on a ring look again at what it waits for.</summary>
    public void RaiseLocalEvent() => _signal.RaiseLocalEvent();

    /// <summary>
    /// A sleep for data has ended by its bound although there is data: waits for the ring a little longer. A peer that
    /// writes at just that moment has yet to give it, and may have lost its processor before. By the holder of the
    /// reader role, still armed.
    /// </summary>
    /// <param name="localEventsSeen">As it was before the sleep: a close since then ends this at once.</param>
    /// <returns>
    /// False when none came: the data was written without one, unless that came after the sleep and before this.
    /// </returns>
    public bool WaitForLateWake(uint localEventsSeen)
    {
        var tail = new SharedWord(ref _peer.Tail);
        return _signal.Wait(tail, tail.Read(), localEventsSeen, WaitBounds.LateWake);
    }

    /// <summary>
    /// A thread has slept for as long as the backstop. Looks at the socket: the monitor hears of its end on the thread
    /// pool, which may be busy or blocked.
    /// </summary>
    /// <param name="isLostWakeup">
    /// True when there was data that nobody was rung for: a defect, which is counted.
    /// </param>
    public void OnSafetyTimeout(bool isLostWakeup)
    {
        if (isLostWakeup)
        {
            Interlocked.Increment(ref _lostWakeups);
            ShmLog.LostWakeup(_logger, ConnectionId);
        }

        try
        {
            if (!IsClosed && DescriptorPassing.IsAtEnd(_socket))
            {
                OnPeerGone();
            }
        }
        catch (ObjectDisposedException)
        {
            // Closed meanwhile, by this side.
        }
    }

    /// <summary>User code threw where nobody but this library could catch it.</summary>
    public void LogUserCodeFailed(Exception exception) => ShmLog.UserCodeFailed(_logger, ConnectionId, exception);

    /// <summary>Closes the link, unless it is closed. The memory stays until its users have left.</summary>
    public void Close(CloseReason reason)
    {
        if (Interlocked.CompareExchange(ref _closeReason, reason, null) is not null)
        {
            return;
        }

        Log(reason);
        if (reason.Kind == CloseKind.PeerViolation)
        {
            Handshake.TrySendRefusal(_socket, default, RefusalReason.Violation, reason.Text);
        }

        _socket.Dispose();
        NotifyAll();
    }

    /// <summary>Closes the link when the peer has closed its end and all that it wrote was read.</summary>
    public void CloseAfterPeer() => Close(IsPeerLeaving
        ? new CloseReason(CloseKind.PeerClosed, $"The peer, {Identity}, closed the connection.")
        : new CloseReason(
            CloseKind.PeerLost, $"The peer, {Identity}, is gone or closed the connection without a word."));

    /// <summary>
    /// Keeps the memory for a moment. False when it is gone or going; the caller then leaves it alone.
    /// </summary>
    public bool TryEnter()
    {
        int users = Volatile.Read(ref _users);
        while (users > 0)
        {
            int seen = Interlocked.CompareExchange(ref _users, users + 1, users);
            if (seen == users)
            {
                return true;
            }

            users = seen;
        }

        return false;
    }

    /// <summary>Ends the use of the memory, of a side or of a passer-by. The last one frees it.</summary>
    public void Leave()
    {
        if (Interlocked.Decrement(ref _users) == 0)
        {
            _own.Dispose();
            _peer.Dispose();
        }
    }

    /// <summary>
    /// Watches the rendezvous socket after the handshake. Its end-of-file is the only verdict of death: the kernel
    /// closes the peer's end, however the process ends. The only message that may still come is a refusal with the
    /// reason of a close.
    /// </summary>
    private async Task WatchPeerAsync()
    {
        try
        {
            using Handshake.ReceivedHello? last =
                await Handshake.ReceiveAsync(_socket, CancellationToken.None).ConfigureAwait(false);
            if (last is { Hello.Type: HelloType.Refusal })
            {
                ShmLog.PeerComplained(_logger, ConnectionId, Identity.ToString(), last.Hello.RefusalText);
            }
            else if (last is not null)
            {
                Close(new CloseReason(CloseKind.PeerViolation, "The peer sent a second hello."));
            }
        }
        catch (Exception exception) when (exception is ProtocolException or SegmentException)
        {
            Close(new CloseReason(CloseKind.PeerViolation, exception.Message, exception));
        }
        catch (Exception exception)
            when (exception is SocketException or IOException or ObjectDisposedException or OperationCanceledException)
        {
            // A reset is an end like any other; a disposed socket is this side's own close.
        }
        finally
        {
            OnPeerGone();
        }
    }

    private void OnPeerGone()
    {
        _isPeerGone = true;
        NotifyAll();
    }

    private void NotifyAll()
    {
        RaiseLocalEvent();
        _onEvent?.Invoke();
    }

    private void Log(CloseReason reason)
    {
        string peer = Identity.ToString();
        switch (reason.Kind)
        {
            case CloseKind.PeerLost:
                ShmLog.PeerLost(_logger, ConnectionId, peer, reason.Text);
                break;
            case CloseKind.PeerViolation:
                ShmLog.PeerViolation(_logger, ConnectionId, peer, reason.Text, reason.Exception);
                break;
            case CloseKind.InternalError:
                ShmLog.ConnectionFailed(_logger, ConnectionId, peer, reason.Text, reason.Exception);
                break;
            default:
                ShmLog.ConnectionClosed(_logger, ConnectionId, peer, reason.Text);
                break;
        }
    }
}
