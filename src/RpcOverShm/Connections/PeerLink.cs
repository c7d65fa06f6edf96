using System.Net.Sockets;
using Microsoft.Extensions.Logging;
using RpcOverShm.Diagnostics;
using RpcOverShm.Protocol;
using RpcOverShm.Rings;
using RpcOverShm.Segments;
using RpcOverShm.Signals;

namespace RpcOverShm.Connections;

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
    private readonly ISignal _signal;
    private readonly ILogger _logger;
    private CloseReason? _closeReason;
    private Action? _onEvent;
    private volatile bool _isPeerGone;
    private volatile bool _isPeerLeaving;
    private int _users = 2;          // the reading side, the writing side, and passers-by
    private long _backstopsWithData; // time-outs that found data: must stay 0

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
        _signal = SignalFactory.Create();
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

    /// <summary>Sampled before a thread looks at what it waits for; see <see cref="ISignal.Attention"/>.</summary>
    public uint Attention => _signal.Attention;

    /// <summary>How often a time-out, and not a ring, found data. Anything but 0 is a lost wake-up.</summary>
    public long BackstopsWithData => Interlocked.Read(ref _backstopsWithData);

    /// <summary>
    /// Starts watching the socket. The action runs when the link closes and when the peer's end does.
    /// </summary>
    public void Start(Action onEvent)
    {
        _onEvent = onEvent;
        ShmLog.ConnectionOpened(_logger, ConnectionId, Identity.ToString());
        PeerMonitor.Start(_socket, this);
    }

    /// <summary>Sleeps until the peer has written past the position, a local event, or the backstop.</summary>
    /// <returns>False when the backstop ended the sleep.</returns>
    public bool SleepForData(long position, uint attentionSeen) =>
        SleepForData(position, attentionSeen, WaitBounds.Backstop);

    /// <summary>The same, with another bound.</summary>
    public bool SleepForData(long position, uint attentionSeen, TimeSpan bound) =>
        _signal.Wait(new SharedWord(ref _peer.Tail), SharedWord.LowHalf(position), attentionSeen, bound);

    /// <summary>Sleeps until the peer has read past the head, a local event, or the backstop.</summary>
    public void SleepForSpace(long head, uint attentionSeen) =>
        _signal.Wait(new SharedWord(ref _peer.Head), SharedWord.LowHalf(head), attentionSeen, WaitBounds.Backstop);

    /// <summary>Wakes whoever in the peer sleeps for data that this side writes.</summary>
    public void WakePeerForData() => _signal.Wake(new SharedWord(ref _own.Tail));

    /// <summary>Wakes whoever in the peer sleeps for space that this side frees.</summary>
    public void WakePeerForSpace() => _signal.Wake(new SharedWord(ref _own.Head));

    /// <summary>Wakes the threads of this side that sleep for data, though none may have come.</summary>
    public void WakeOwnReaders() => _signal.Wake(new SharedWord(ref _peer.Tail));

    /// <summary>Makes every thread of this side that sleeps on a ring look again at what it waits for.</summary>
    public void RaiseAttention() => _signal.RaiseAttention();

    /// <summary>Called by the monitor: the peer's process is gone or has closed its end.</summary>
    public void OnPeerGone()
    {
        _isPeerGone = true;
        NotifyAll();
    }

    /// <summary>
    /// A sleep for data has ended by its bound although there is data: waits for the ring a little longer. A peer that
    /// writes at just that moment has yet to give it, and may have lost its processor before. By the holder of the
    /// reader role, still armed.
    /// </summary>
    /// <param name="attentionSeen">As it was before the sleep: a close since then ends this at once.</param>
    /// <returns>
    /// False when none came: the data was written without one, unless that came after the sleep and before this.
    /// </returns>
    public bool IsRungAfterAll(uint attentionSeen)
    {
        var tail = new SharedWord(ref _peer.Tail);
        return _signal.Wait(tail, tail.Read(), attentionSeen, WaitBounds.LateRing);
    }

    /// <summary>
    /// A thread has slept for as long as the backstop. Looks at the socket: the monitor hears of its end on the thread
    /// pool, which may be busy or blocked.
    /// </summary>
    /// <param name="isDataUnrung">
    /// True when there was data that nobody was rung for: a defect, which is counted.
    /// </param>
    public void OnBackstop(bool isDataUnrung)
    {
        if (isDataUnrung)
        {
            Interlocked.Increment(ref _backstopsWithData);
            ShmLog.BackstopFoundData(_logger, ConnectionId);
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

    /// <summary>Called by the monitor: the peer sent a last word over the socket.</summary>
    public void OnPeerComplaint(string text) =>
        ShmLog.PeerComplained(_logger, ConnectionId, Identity.ToString(), text);

    /// <summary>Closes the link, unless it is closed. The memory stays until its users have left.</summary>
    public void Close(CloseReason reason)
    {
        if (Interlocked.CompareExchange(ref _closeReason, reason, null) is not null)
        {
            return;
        }

        Log(reason);
        if (reason.Cause == CloseCause.PeerViolation)
        {
            Handshake.TrySendRefusal(_socket, default, RefusalReason.Violation, reason.Text);
        }

        _socket.Dispose();
        NotifyAll();
    }

    /// <summary>Closes the link when the peer has closed its end and all that it wrote was read.</summary>
    public void CloseAfterPeer() => Close(IsPeerLeaving
        ? new CloseReason(CloseCause.PeerClosed, $"The peer, {Identity}, closed the connection.")
        : new CloseReason(
            CloseCause.PeerLost, $"The peer, {Identity}, is gone or closed the connection without a word."));

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

    private void NotifyAll()
    {
        RaiseAttention();
        _onEvent?.Invoke();
    }

    private void Log(CloseReason reason)
    {
        string peer = Identity.ToString();
        switch (reason.Cause)
        {
            case CloseCause.PeerLost:
                ShmLog.PeerLost(_logger, ConnectionId, peer, reason.Text);
                break;
            case CloseCause.PeerViolation:
                ShmLog.PeerViolation(_logger, ConnectionId, peer, reason.Text, reason.Exception);
                break;
            case CloseCause.InternalError:
                ShmLog.ConnectionFailed(_logger, ConnectionId, peer, reason.Text, reason.Exception);
                break;
            default:
                ShmLog.ConnectionClosed(_logger, ConnectionId, peer, reason.Text);
                break;
        }
    }
}
