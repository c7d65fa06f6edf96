namespace RpcOverShm.Scheduling;

/// <summary>
/// A connection, a byte stream or a descriptor alone as its event loop serves it. The loop calls the protected members,
/// on one thread at a time; everything else is thread-safe. A source belongs to one loop from
/// <see cref="EventLoop.Add"/> to its removal.
/// <code>
///             Request: any thread, or the socket             TryPark succeeded
///   Parked ------------------------------------> Active ------------------------> Parked
///                                                |    ^
///                                        Request |    | the loop takes the request
///                                                v    |
///                                              Requested          each --Remove--> Removed
/// </code>
/// Parked: the loop does not look at the source; the peer rings its doorbell, or a thread of this process reads.
/// Active: the loop looks at the source in each rotation.
/// </summary>
internal abstract class EventSource
{
    private const int Parked = 0;
    private const int Active = 1;
    private const int Requested = 2;
    private const int Removed = 3;

    private int _state;
    private int _isPosted;
    private MissedDoorbell? _suspect; // the doorbell that was missing at the last check

    /// <summary>The loop that serves this source; null before it was added.</summary>
    public EventLoop? Loop { get; set; }

    /// <summary>The number under which the loop knows the source.</summary>
    public ulong Key { get; set; }

    /// <summary>The source that was posted to the loop before this one; valid while this one is posted.</summary>
    public EventSource? PostedBefore { get; set; }

    /// <summary>Whether the source is in the loop's list. Used by the loop only.</summary>
    public bool IsListed { get; set; }

    /// <summary>When the source last had work, as a time stamp. Used by the loop only.</summary>
    public long LastWorkAt { get; set; }

    /// <summary>Whether the source has a ring, whose peer rings a doorbell.</summary>
    public virtual bool HasRing => true;

    /// <summary>Whether the source had been silent for long when it was listed. Used by the loop only.</summary>
    public bool IsRare { get; set; }

    /// <summary>The time stamp of <see cref="EventLoop.RequestAt"/>. Used by the loop only.</summary>
    public long DueAt { get; set; }

    /// <summary>Whether the loop looks at this source in each rotation.</summary>
    public bool IsActive => Volatile.Read(ref _state) is Active or Requested;

    public bool IsRemoved => Volatile.Read(ref _state) == Removed;

    /// <summary>Whether a request waits for the loop.</summary>
    public bool IsRequested => Volatile.Read(ref _state) == Requested;

    /// <summary>
    /// Requests one run of this source, even if it has no work to be seen. A full fence. Returns at once; does nothing
    /// once the source is removed. Before the source is added to a loop, the request waits for that.
    /// </summary>
    public void Request()
    {
        while (true)
        {
            int state = Volatile.Read(ref _state);
            if (state is Requested or Removed)
            {
                Interlocked.MemoryBarrier();
                if (Volatile.Read(ref _state) == state)
                {
                    return;
                }
            }
            else if (Interlocked.CompareExchange(ref _state, Requested, state) == state)
            {
                if (state == Parked)
                {
                    // Before the source is added there is no loop; that looks for a request afterwards.
                    Loop?.Post(this);
                }

                return;
            }
        }
    }

    /// <summary>
    /// Whether there is work to be seen, without the right to do it. Called in each rotation, so cheap.
    /// </summary>
    public abstract bool HasWork { get; }

    /// <summary>
    /// Does a bounded part of the work. Returns false if user code has lost the loop to another thread: the caller must
    /// then touch nothing of the loop.
    /// </summary>
    public abstract bool Run(LoopThread me);

    /// <summary>
    /// Asks the peer to ring the doorbell when there is work again. Returns false if there is some now. If another
    /// thread reads, it looks after the source when it leaves, and this method only returns true.
    /// </summary>
    public abstract bool TryPark();

    /// <summary>Returns whether a source that has just been parked has nobody who looks after it.</summary>
    public abstract bool NeedsReader { get; }

    /// <summary>The socket became readable, or has ended.</summary>
    public abstract void OnSocket();

    /// <summary>
    /// Reads what has come on the socket, and its end if there is one. Called after the work that it may have
    /// announced.
    /// </summary>
    public abstract void DrainSocket(bool hasEnded);

    /// <summary>User code of this source has lost the loop. Called by the thread that goes on with the loop.</summary>
    public virtual void OnLoopLost()
    {
    }

    /// <summary>
    /// The run of user code of this source is being taken over. Called before another thread goes on.
    /// </summary>
    public virtual void OnTakeOverStarting()
    {
    }

    /// <summary>Begins a stay in the loop's list. Returns false if the source must not be touched any more.</summary>
    public virtual bool TryEnter() => true;

    /// <summary>Ends the stay that <see cref="TryEnter"/> began.</summary>
    public virtual void Leave()
    {
    }

    /// <summary>
    /// Returns the doorbell that the source asked for and that was not sent although there is data or space; else null.
    /// </summary>
    protected abstract MissedDoorbell? FindMissedDoorbell();

    /// <summary>A doorbell was lost: a defect of this library or of the peer.</summary>
    protected abstract void OnLostDoorbell();

    /// <summary>
    /// Checks a parked source after a long sleep of the loop. Returns true if there is data or space without a
    /// doorbell. If so at the same position at two checks in a row, the second of which is on time, the doorbell is
    /// lost.
    /// </summary>
    internal bool CheckParked(bool isOnTime)
    {
        MissedDoorbell? missed = FindMissedDoorbell();
        bool isLost = missed is not null && missed == _suspect && isOnTime;
        _suspect = isLost ? null : missed;
        if (isLost)
        {
            OnLostDoorbell();
            Request();
        }

        return _suspect is not null;
    }

    /// <summary>
    /// Marks a source as active that the loop's own thread adds to its list. Returns false if it is not parked.
    /// </summary>
    internal bool TryActivate() => Interlocked.CompareExchange(ref _state, Active, Parked) == Parked;

    /// <summary>Marks the source as posted; a full fence. Returns false if it is posted already.</summary>
    internal bool TryBePosted() => Interlocked.Exchange(ref _isPosted, 1) == 0;

    /// <summary>
    /// Marks the source as not posted; a full fence. The loop looks at the state afterwards, so it sees a request that
    /// found the source posted.
    /// </summary>
    internal void TakePosted()
    {
        PostedBefore = null;
        Interlocked.Exchange(ref _isPosted, 0);
    }

    /// <summary>Takes a request, if there is one. Called by the loop before it runs the source.</summary>
    internal bool TakeRequest() =>
        Volatile.Read(ref _state) == Requested
        && Interlocked.CompareExchange(ref _state, Active, Requested) == Requested;

    /// <summary>Marks the source as parked; a full fence. Returns false if it was requested meanwhile.</summary>
    internal bool TrySetParked() => Interlocked.CompareExchange(ref _state, Parked, Active) == Active;

    internal void SetRemoved() => Interlocked.Exchange(ref _state, Removed);
}

/// <summary>A doorbell that a source asked for and that was not sent, although there is data or space.</summary>
/// <param name="IsForSpace">Whether it is for space in the outgoing ring, not for data in the incoming one.</param>
/// <param name="Position">The position in that ring.</param>
internal readonly record struct MissedDoorbell(bool IsForSpace, long Position);
