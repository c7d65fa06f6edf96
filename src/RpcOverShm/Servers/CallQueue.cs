using Grpc.Core;
using RpcOverShm.Buffers;
using RpcOverShm.Calls;
using RpcOverShm.Diagnostics;
using RpcOverShm.Protocol;
using RpcOverShm.Sending;

namespace RpcOverShm.Servers;

/// <summary>
/// The calls of one connection that wait for their turn, in the order of their arrival: because as many methods run as
/// may, or because the client does not read its answers. While no limit is near, a call costs a few reads here and no
/// lock. The holder of the reader role adds calls; any thread ends them.
/// </summary>
internal sealed partial class CallQueue
{
    // The calls that one event begins: more than one, so that the running ones become as many as may run; few, so that
    // their answers count before the next ones begin.
    private const int MostPerEvent = 2;

    private readonly Gate _lock = new();
    private readonly LinkedList<CallTurn> _waiting = new();
    private readonly List<CallTurn> _waitingNested = []; // of the waiting calls, those that name a parent
    private readonly ServerConnection _owner;
    private readonly CallPlaces _places;
    private readonly ServerLimits _limits;
    private volatile bool _hasWaiting;
    private bool _isStopping;
    private int _unbegun;      // admitted calls whose method has not begun
    private int _nested;       // running calls in the place of their parent
    private int _queued;       // calls that wait here or for a place of the server
    private int _isPumpQueued; // 1 while a thread pool item will begin calls

    public CallQueue(ServerConnection owner, CallPlaces places)
    {
        _owner = owner;
        _places = places;
        _limits = places.Limits;
        Budget = new BufferBudget(ServerLimits.ConnectionBytesOption, _limits.ConnectionBytes, places.Budget)
        {
            OnAnswersSank = BeginWaitingLater,
        };
    }

    /// <summary>The bytes that the connection makes the server keep.</summary>
    public BufferBudget Budget { get; }

    /// <summary>The calls that wait for their turn.</summary>
    public int Queued => Volatile.Read(ref _queued);

    /// <summary>
    /// Whether a nested call may ever have to wait for a place that this connection's running calls keep. Those must
    /// then be known to it, from the first on: a call that runs for long began when no limit was near.
    /// </summary>
    public bool IsNamed => _owner.IsOfThisProcess || _owner.Connection.IsPeerServing || !_places.IsUnlimited;

    // Running counts the unbegun calls too, so this is true only if there is a place in any case.
    private bool IsFree => !_hasWaiting
        && _owner.Running.Count <= _limits.PerConnection
        && !IsHeldByAnswers
        && _places.IsUnlimited;

    // Under the lock. A method that ends is uncounted as unbegun or nested first, so this is never too low.
    private bool HasPlace =>
        _owner.Running.Count - Volatile.Read(ref _unbegun) - Volatile.Read(ref _nested) < _limits.PerConnection
        && !IsHeldByAnswers;

    /// <summary>
    /// Counts an admitted call that waits for the end of its request. Returns null, or the status of its refusal.
    /// </summary>
    public Status? TryCountUnbegun(CallTurn turn)
    {
        turn.IsUnbegun = true;
        using (_lock.Enter())
        {
            Interlocked.Increment(ref _unbegun);
        }

        if (_hasWaiting)
        {
            // A thread that looked for places before this may have counted the call as a running one.
            BeginWaiting();
        }

        return TryCharge(turn, requestBytes: 0);
    }

    /// <summary>
    /// Returns whether an admitted call may begin now. If not, it waits, or <paramref name="refusal"/> is its status.
    /// Only the holder of the reader role calls this, and <see cref="OnLeft"/> after a refusal.
    /// </summary>
    public bool TryBegin(ServerCall call, int requestBytes, out Status? refusal)
    {
        refusal = null;
        if (IsFree)
        {
            if (call.Turn is { } unbegun)
            {
                SetBegun(unbegun);
            }

            return true;
        }

        CallTurn turn = call.Turn ??= new CallTurn(call);
        using (_lock.Enter())
        {
            // A running method waits for a call of its chain.
            if (_isStopping && turn.Caller is null && !call.IsOneWay)
            {
                refusal = StatusMapping.ServerStopping;
                return false;
            }

            if (!turn.IsUnbegun)
            {
                turn.IsUnbegun = true;
                Interlocked.Increment(ref _unbegun);
            }

            if ((_waiting.Count == 0 && HasPlace) || TryNest(turn))
            {
                SetPlaced(turn);
            }
            else
            {
                refusal = TryWait(turn, requestBytes);
            }
        }

        if (refusal is not null)
        {
            return false;
        }

        if (!turn.IsUnbegun)
        {
            return TryBeginAtServer(turn, requestBytes, out refusal);
        }

        BeginOrLeave(turn);
        return false;
    }

    /// <summary>
    /// Removes a waiting call that has ended. Returns true to one thread, which calls <see cref="OnLeft"/>.
    /// </summary>
    public bool TryLeave(CallTurn turn)
    {
        using (_lock.Enter())
        {
            if (turn.Node.List == _waiting)
            {
                Remove(turn.Node);
                return true;
            }
        }

        return _places.TryLeave(turn);
    }

    /// <summary>Uncounts a call that has ended before its method began. Begins another one in its place.</summary>
    public void OnLeft(ServerCall call)
    {
        if (call.Turn is { } turn)
        {
            SetBegun(turn);
            turn.Order?.Remove(turn);
            _places.OnEnded(turn);
        }

        Uncount(call);
    }

    /// <summary>Uncounts a call whose method has ended. Begins another one in its place.</summary>
    public void OnMethodEnded(ServerCall call)
    {
        if (call.Turn is { } turn)
        {
            turn.Ambient?.End();
            turn.Order?.OnStarted(turn);
            _places.OnEnded(turn);
        }

        Uncount(call);
    }

    /// <summary>Begins a call that has waited, on the thread pool.</summary>
    public void BeginQueued(CallTurn turn)
    {
        SetBegun(turn);
        turn.Call.QueueUserCode(PendingUserCode.Start);
    }

    /// <summary>Returns whether a nested call can take the place of the call that it names.</summary>
    public bool Knows(ParentCall parent) => _places.Find(parent) is not null;

    /// <summary>Counts the calls that run in the place of their parent.</summary>
    public void CountNested(int change) => Interlocked.Add(ref _nested, change);

    /// <summary>Makes a call that is about to run known to the nested calls of its method.</summary>
    public void Name(ServerCall call)
    {
        var name = new ParentCall(_owner.Connection.Id, call.Id);
        CallTurn turn = call.Turn ??= new CallTurn(call);
        AmbientCall? parent = turn.Parent is { } known ? _places.Find(known)?.Ambient : null;
        var ambient = new AmbientCall(name, call.Depth, parent);
        turn.Ambient = ambient;
        _places.AddName(turn, ambient.Name);
        AmbientCall.Set(ambient);
    }

    /// <summary>
    /// Refuses the waiting calls, and those that would have to wait later, but for one-way calls.
    /// </summary>
    public void Stop()
    {
        List<CallTurn> refused;
        using (_lock.Enter())
        {
            _isStopping = true;
            refused = [.. _waiting.Where(static turn => !turn.Call.IsOneWay)];
            refused.ForEach(turn => Remove(turn.Node));
        }

        refused.AddRange(_places.TakeWaiting(_owner));
        refused.ForEach(turn => turn.Call.Refuse(StatusMapping.ServerStopping));
    }

    // Under the lock: a call that begins is never uncounted as unbegun before it is counted as nested.
    private bool TryNest(CallTurn turn)
    {
        if (!_places.TryNest(turn))
        {
            return false;
        }

        CountNested(1);
        return true;
    }

    /// <summary>
    /// Returns whether a call with a place on this connection may begin. Otherwise it is refused, or waits for a place
    /// of the server and keeps this one.
    /// </summary>
    private bool TryBeginAtServer(CallTurn turn, int requestBytes, out Status? refusal)
    {
        refusal = null;
        if (!turn.IsNested && !_places.TryTake(turn))
        {
            if (!turn.IsQueued)
            {
                refusal = TryQueue(turn, requestBytes, ServerLimits.CallsOption, _limits.Calls!.Value);
            }

            if (refusal is not null || !_places.TryTakeOrWait(turn))
            {
                LeaveIfEnded(turn);
                return false;
            }
        }

        SetBegun(turn);
        return true;
    }

    private void BeginOrLeave(CallTurn waiting)
    {
        // StoreLoad: the call is in the list before this thread checks for places and for the end of the call. A thread
        // that frees a place or ends the call does so before it checks the list.
        Interlocked.MemoryBarrier();
        BeginWaiting();
        LeaveIfEnded(waiting);
    }

    // A thread that has ended the call may have looked for it in a list before it was there.
    private void LeaveIfEnded(CallTurn turn)
    {
        if (turn.Call.IsEnded && TryLeave(turn))
        {
            turn.Call.OnLeftQueue();
        }
    }

    // Under the lock.
    private Status? TryWait(CallTurn turn, int requestBytes)
    {
        bool isHeldByAnswers = IsHeldByAnswers;
        (string option, long limit) = isHeldByAnswers
            ? (Budget.Option, Budget.LimitBytes)
            : (ServerLimits.PerConnectionOption, _limits.PerConnection);
        if (TryQueue(turn, requestBytes, option, limit) is { } refusal)
        {
            return isHeldByAnswers ? StatusMapping.BufferFull(Budget) : refusal;
        }

        if (_waiting.Count == 0)
        {
            ReportWait(option, limit, isHeldByAnswers);
        }

        _waiting.AddLast(turn.Node);
        if (turn.Parent is not null)
        {
            _waitingNested.Add(turn);
        }

        _hasWaiting = true;
        return null;
    }

    private void Uncount(ServerCall call)
    {
        if (call.IsOneWay)
        {
            _owner.OnOneWayOver(call);
        }

        _owner.Running.RemoveByAnyThread();
        if (_hasWaiting || _hasAnswers)
        {
            GoOn();
        }
    }

    private void GoOn()
    {
        LetAnswer();
        BeginWaiting();
    }

    /// <summary>Begins the first waiting calls, if they may run.</summary>
    private void BeginWaiting()
    {
        int begun = 0;
        while (begun < MostPerEvent && TakeNext() is { } next)
        {
            begun++;
            if (TryBeginAtServer(next, requestBytes: 0, out _))
            {
                BeginQueued(next);
            }
        }

        if (begun == MostPerEvent && HasPlace)
        {
            // One event may free many places, such as the last of many answers that goes.
            BeginWaitingLater();
        }
    }

    private CallTurn? TakeNext()
    {
        using (_lock.Enter())
        {
            // A nested call whose parent's place is free need not wait for the calls before it.
            LinkedListNode<CallTurn>? node = HasPlace ? _waiting.First : _waitingNested.Find(TryNest)?.Node;
            if (node is null || (_owner.Connection.CloseReason is not null && !node.Value.Call.IsOneWay))
            {
                return null; // Calls but the one-way ones end with their connection.
            }

            Remove(node);
            SetPlaced(node.Value);
            return node.Value;
        }
    }

    // Under the lock.
    private void Remove(LinkedListNode<CallTurn> node)
    {
        _waiting.Remove(node);
        _hasWaiting = _waiting.Count > 0;
        if (node.Value.Parent is not null)
        {
            _waitingNested.Remove(node.Value);
        }
    }

    // Also called under a sender's gate.
    private void BeginWaitingLater()
    {
        if ((_hasWaiting || _hasAnswers) && Interlocked.Exchange(ref _isPumpQueued, 1) == 0)
        {
            PoolWork.Queue(
                static queue =>
                {
                    Volatile.Write(ref queue._isPumpQueued, 0);
                    Interlocked.MemoryBarrier();
                    queue.GoOn();
                },
                this);
        }
    }
}
