using System.Diagnostics;
using System.Runtime.CompilerServices;
using Microsoft.Extensions.Logging;
using RpcOverShm.Diagnostics;
using RpcOverShm.Loans;
using RpcOverShm.Protocol;
using RpcOverShm.Rings;
using RpcOverShm.Scheduling;
using RpcOverShm.Segments;
using RpcOverShm.Systems;
using RpcOverShm.Topics;

namespace RpcOverShm.Links;

/// <summary>
/// The link that a finished handshake leaves. It owns the wire, two segments with one ring each, and the signal for
/// sleeping and waking. It does not know calls or streams; the connection above it reads and writes the rings.
/// <para>
/// Close takes effect at once, and the first reason wins. The memory is unmapped later, after its last user has left:
/// the reading side and the writing side each call <see cref="Leave"/> once, at their end. Any other thread that
/// touches shared memory does so between <see cref="TryEnter"/> and <see cref="Leave"/>.
/// </para>
/// </summary>
internal sealed partial class PeerLink : ILinkMemory
{
    private readonly Wire _wire;
    private readonly SharedSegment _own;
    private readonly SharedSegment _peer;
    private readonly Signal _signal;
    private readonly ILogger _logger;
    private CloseReason? _closeReason;
    private Action? _onEvent;
    private EventSource? _source;
    private IDisposable? _processWatch;
    private volatile bool _isPeerGone;
    private volatile bool _isPeerLeaving;
    private volatile string? _rejection; // why the peer does not take the link
    private int _users = 2;          // the reading side, the writing side, and threads between TryEnter and Leave
    private long _lostWakeups;       // must stay 0

    public PeerLink(
        Wire wire,
        SharedSegment own,
        SharedSegment peer,
        Signal signal,
        PeerIdentity identity,
        Guid connectionId,
        ConnectionSettings settings,
        PeerLimits peerLimits,
        bool isAcceptor,
        uint features = 0)
    {
        _wire = wire;
        wire.LimitUnread((features & Hello.HandlesFeature) == 0 ? MostUnreadBytes : MostUnreadWithHandles);
        _own = own;
        _peer = peer;
        _signal = signal;
        _logger = settings.Logger;
        Identity = identity;
        ConnectionId = connectionId;
        OwnLimits = settings.Limits;
        PeerLimits = peerLimits;
        IsAcceptor = isAcceptor;
        Writer = new RingWriter(own, peer) { OnGrowthWanted = BeginGrowth };
        Reader = new RingReader(own, peer);
        MakeParts(settings, features);
    }

    public ILogger Logger => _logger;

    public PeerIdentity Identity { get; }

    public Guid ConnectionId { get; }

    public PeerLimits OwnLimits { get; }

    public PeerLimits PeerLimits { get; }

    /// <summary>Whether this side accepted the connection.</summary>
    public bool IsAcceptor { get; }

    /// <summary>The loans of the link; null if its sides have not agreed on them.</summary>
    public LinkLoans? Loans { get; private set; }

    /// <summary>The handles of calls; null if the sides of the link have not agreed on them.</summary>
    public LinkHandles? Handles { get; private set; }

    /// <summary>Runs once, after the memory is unmapped; set before the link has other users.</summary>
    public Action? OnUnmapped { get; set; }

    /// <summary>The ring that this side writes. Only one thread at a time, until the writing side leaves.</summary>
    public RingWriter Writer { get; }

    /// <summary>The ring that this side reads. Only one thread at a time, until the reading side leaves.</summary>
    public RingReader Reader { get; }

    /// <summary>The reason of the close; null while the link is open.</summary>
    public CloseReason? CloseReason => Volatile.Read(ref _closeReason);

    public bool IsClosed => CloseReason is not null;

    /// <summary>
    /// Whether the peer's end of the socket is closed, or its process has ended. The ring may still contain records;
    /// the reader reads them and then closes the link.
    /// </summary>
    public bool IsPeerGone => _isPeerGone;

    /// <summary>
    /// Returns <see cref="IsPeerGone"/>. If true, the reader finds no records beyond those that are published by now:
    /// another process may go on writing. Only for the reading side.
    /// </summary>
    public bool SealIfPeerGone()
    {
        if (!_isPeerGone)
        {
            return false;
        }

        Reader.SealTail();
        return true;
    }

    /// <summary>Whether the peer has announced its close. If so, its end counts as a close and not as a loss.</summary>
    public bool IsPeerLeaving
    {
        get => _isPeerLeaving;
        set => _isPeerLeaving = value;
    }

    /// <summary>
    /// The number of local events. A thread samples it before it checks its conditions for sleeping; see
    /// <see cref="Signal.LocalEvents"/>.
    /// </summary>
    public uint LocalEvents => _signal.LocalEvents;

    /// <summary>The number of lost wake-ups: sleeps that a time-out ended although data was there. Must be 0.</summary>
    public long LostWakeups => Interlocked.Read(ref _lostWakeups);

    /// <summary>
    /// Begins to watch the socket, on an event loop that also serves <paramref name="source"/>, and the peer's process.
    /// The action runs when this side closes the link and when the peer is found gone: possibly more than once, on any
    /// thread. If the system lacks something for that, the link is closed at once, and the source is in no loop.
    /// </summary>
    public void Start(EventSource source, Action onEvent)
    {
        _onEvent = onEvent;
        _source = source;
        DeferredLog.Write(_logger, log => ShmLog.ConnectionOpened(log, ConnectionId, Identity.ToString()));
        EventLoopGroup loops = IsAcceptor ? EventLoopGroup.Servers : EventLoopGroup.Channels;
        if (loops.Add(source, _wire) is { } problem)
        {
            Close(new CloseReason(CloseKind.NoResources, problem));
        }
        else
        {
            WatchProcess(source.Loop!);
        }

        // StoreLoad: the source and the action are stored before this look. A close is stored before it looks for them.
        Interlocked.MemoryBarrier();
        if (IsClosed)
        {
            // The close may have come before there was a loop to leave, a watch to end, or anybody to tell.
            source.Loop?.Unwatch(_wire);
            Interlocked.Exchange(ref _processWatch, null)?.Dispose();
            NotifyAll();
        }
    }

    /// <summary>
    /// Sleeps until the peer has written past the position, a wake, a local event, or the timeout, which is the safety
    /// timeout by default.
    /// </summary>
    /// <returns>False if the timeout ended the sleep.</returns>
    public bool SleepForData(long position, uint localEventsSeen, TimeSpan? timeout = null) => _signal.Wait(
        new SharedWord(ref _peer.Tail),
        SharedWord.LowHalf(position),
        localEventsSeen,
        timeout ?? WaitBounds.SafetyTimeout);

    /// <summary>Sleeps until the peer has read past the head, a wake, a local event, or the safety timeout.</summary>
    public void SleepForSpace(long head, uint localEventsSeen) =>
        _signal.Wait(
            new SharedWord(ref _peer.Head), SharedWord.LowHalf(head), localEventsSeen, WaitBounds.SafetyTimeout);

    /// <summary>Wakes a peer that sleeps for data of this side. Any thread may call this.</summary>
    public void WakePeerForData(WakeMethods wakeMethods)
    {
        if ((wakeMethods & WakeMethods.Futex) != 0 && TryEnter())
        {
            _signal.Wake(new SharedWord(ref _own.Tail));
            Leave();
        }

        RingSocket(wakeMethods);
    }

    /// <summary>Wakes a peer that sleeps for space that this side releases. Only for the reading side.</summary>
    public void WakePeerForSpace(WakeMethods wakeMethods)
    {
        if ((wakeMethods & WakeMethods.Futex) != 0)
        {
            _signal.Wake(new SharedWord(ref _own.Head));
        }

        RingSocket(wakeMethods);
    }

    /// <summary>Wakes every thread of this side that sleeps on a ring, so that it checks its condition again.</summary>
    public void RaiseLocalEvent() => _signal.RaiseLocalEvent();

    /// <summary>
    /// Returns whether a sleep for data that timed out, although data is there, has lost its wake-up. Waits a little
    /// for a late one. On a starved machine nothing is certain: a wake that comes after the timeout, and before the
    /// thread runs again, is not seen. Then this returns false.
    /// </summary>
    /// <param name="localEventsSeen">The sample from before the sleep.</param>
    /// <param name="begun">The time stamp from before the sleep, which had the safety timeout.</param>
    public bool IsWakeupLost(uint localEventsSeen, long begun)
    {
        if (Stopwatch.GetElapsedTime(begun) > WaitBounds.SafetyTimeout + WaitBounds.OnTime)
        {
            return false;
        }

        begun = Stopwatch.GetTimestamp();
        return !WaitForLateWake(localEventsSeen)
            && Stopwatch.GetElapsedTime(begun) <= WaitBounds.LateWake + WaitBounds.OnTime;
    }

    /// <summary>
    /// Waits a little longer for the wake after a sleep for data timed out although data is there. A peer that
    /// publishes at that very moment may have been preempted before it wakes this side. The ring must still be armed.
    /// </summary>
    /// <param name="localEventsSeen">The sample from before the sleep; a later event ends this at once.</param>
    /// <returns>
    /// False if no wake came. The peer then published without a wake, unless it came between the sleep and this call.
    /// </returns>
    public bool WaitForLateWake(uint localEventsSeen)
    {
        var tail = new SharedWord(ref _peer.Tail);
        return _signal.Wait(tail, tail.Read(), localEventsSeen, WaitBounds.LateWake);
    }

    /// <summary>
    /// Checks after a sleep that timed out whether the peer has closed the socket. The event loop sees that too, unless
    /// it is busy.
    /// </summary>
    /// <param name="isLostWakeup">Whether there was data without a wake: a defect, which is counted and logged.</param>
    public void OnSafetyTimeout(bool isLostWakeup)
    {
        if (isLostWakeup)
        {
            Interlocked.Increment(ref _lostWakeups);
            ProcessCounts.LostWakeUps.Add();
            DeferredLog.Write(_logger, log => ShmLog.LostWakeup(log, ConnectionId, Identity.ToString()));
        }

        try
        {
            if (!IsClosed && _wire.IsAtEnd)
            {
                OnPeerGone();
            }
        }
        catch (ObjectDisposedException)
        {
            // This side has closed the link meanwhile.
        }
    }

    /// <summary>Reads the next record as a frame. Only for the reading side, which then releases the record.</summary>
    /// <exception cref="ProtocolException">The frame is valid in no state of its call.</exception>
    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    public bool TryReadFrame(out FrameHeader frame, out ReadOnlySpan<byte> payload)
    {
        if (!Reader.TryRead(out RecordHeader record, out payload))
        {
            frame = default;
            return false;
        }

        frame = new FrameHeader(
            (FrameKind)record.Kind,
            (FrameFlags)record.Flags,
            record.HeadLength,
            new CallId(record.StreamId),
            record.Argument,
            payload.Length);
        return frame.Check() is { } problem ? throw new ProtocolException($"The peer sent {problem}.") : true;
    }

    /// <summary>Logs an exception that escaped from user code on a thread of this library.</summary>
    public void LogUserCodeFailed(Exception exception) => ShmLog.UserCodeFailed(_logger, ConnectionId, exception);

    /// <summary>Closes the link unless it is closed already. The memory stays until its users have left.</summary>
    public void Close(CloseReason reason)
    {
        if (Interlocked.CompareExchange(ref _closeReason, reason, null) is not null)
        {
            return;
        }

        try
        {
            ReportAndRelease(reason);
        }
        finally
        {
            // Also without memory for that: the threads that wait for this link must hear of its end.
            NotifyAll();
        }
    }

    /// <summary>Closes the link because the peer broke the protocol.</summary>
    public void CloseForViolation(Exception exception) =>
        Close(new CloseReason(CloseKind.PeerViolation, exception.Message, exception));

    /// <summary>Closes the link after the peer has closed its end and all its records have been read.</summary>
    public void CloseAfterPeer() => Close(CloseReason.OfPeer($"{Identity}", IsPeerLeaving, _rejection));

    /// <summary>
    /// Keeps the memory mapped until <see cref="Leave"/>. Returns false if it is unmapped or about to be: the caller
    /// must then not touch it.
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

    /// <summary>Ends one use of the memory: a side's, or since <see cref="TryEnter"/>. The last unmaps it.</summary>
    public void Leave()
    {
        if (Interlocked.Decrement(ref _users) == 0)
        {
            PeerTopics?.Close(); // first: a stream that begins to wait touches the segment
            _own.Dispose();
            _peer.Dispose();
            _signal.Dispose();
            if (_passed.Count > 0)
            {
                DropPassed(); // with a part of a notice, whose rest never came
            }

            Loans?.BeginClose();
            Handles?.Close();
            OnUnmapped?.Invoke();
        }
    }

    private void ReportAndRelease(CloseReason reason)
    {
        if (reason.Kind == CloseKind.PeerLost)
        {
            ProcessCounts.PeerDeaths.Add();
        }

        // The caller may hold the reader role or a lock, and the user's logger may block.
        DeferredLog.Write(_logger, log => CloseLog.Write(log, ConnectionId, Identity.ToString(), reason));
        if (reason.Refusal is { } refusal)
        {
            Handshake.TrySendRefusal(_wire, default, refusal, reason.Text);
        }

        PassedTopics?.Close();

        // Not closed on this thread: it may hold descriptors of the peer whose close takes long.
        _source?.Loop?.Unwatch(_wire);
        ForeignHandles.Shared.Close(_wire);
        Interlocked.Exchange(ref _processWatch, null)?.Dispose();
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
}
