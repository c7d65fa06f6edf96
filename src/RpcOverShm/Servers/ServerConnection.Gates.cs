using System.Collections.Concurrent;
using Grpc.Core;
using RpcOverShm.Calls;
using RpcOverShm.Connections;
using RpcOverShm.Diagnostics;
using RpcOverShm.Protocol;

namespace RpcOverShm.Servers;

/// <content>
/// Admits a call to its method through up to three gates: the order of its service if that is ordered, the connection,
/// and the server if that has a limit. A call that need not wait costs one interlocked operation for each gate with a
/// limit. The holder of the reader role starts; the thread that lets a waiting call into a gate continues.
/// </content>
internal sealed partial class ServerConnection
{
    private readonly CallGate _serverGate;
    private readonly CallGate _connectionGate;
    private ConcurrentDictionary<string, CallGate>? _orderGates; // by service

    /// <summary>
    /// Whether calls that methods make can be callbacks or can wait at a full gate. All running calls are then tracked,
    /// because a call that started before the limit was reached may be the parent of one that waits.
    /// </summary>
    public bool TracksRunningCalls => IsSameProcess || Connection.IsPeerServing || !_serverGate.IsUnlimited;

    /// <summary>
    /// Creates the ticket of a call that belongs to a chain. Returns null if the parent that the head of the call names
    /// is no running or outgoing call of this side. Only the holder of the reader role calls this.
    /// </summary>
    public CallTicket? CreateNestedTicket(ServerCall call, ParentCall parent)
    {
        if (Connection.FindCallbackOrigin(parent) is { } origin)
        {
            // Nobody waits for what a one-way call does.
            RunningCall? parentOfOrigin = origin.IsOneWay ? null : (origin as INestedCall)?.Parent;
            return new CallTicket(
                call, parentOfOrigin?.ServerGate == _serverGate ? parentOfOrigin : null, origin);
        }

        return IsSameProcess && RunningCall.Find(parent, _serverGate) is { } running
            ? new CallTicket(call, running)
            : null;
    }

    /// <summary>
    /// Returns whether an admitted call may begin now. If not, it waits, or <paramref name="refusal"/> is its status.
    /// Only the holder of the reader role calls this, and <see cref="OnCallNeverStarted"/> after a refusal.
    /// </summary>
    public bool TryBegin(ServerCall call, int requestBytes, out Status? refusal)
    {
        refusal = null;
        if (call.Handler.IsOrdered && call.Ticket is not { IsInChain: true })
        {
            call.Ticket ??= new CallTicket(call);
            call.Ticket.SetOrderGate(GetOrderGate(call.Handler.ServiceName));
        }

        if (call.Ticket is null && !IsPausedByUnreadResponses && _connectionGate.TryEnter())
        {
            // StoreLoad: the call is inside the gate before the flag of the stop is read. The stop sets the flag before
            // it reads the calls inside.
            if (!_isRefusing && _serverGate.TryEnter())
            {
                return true;
            }

            call.Ticket = new CallTicket(call) { Stage = CallStage.EnteredConnection };
            if (_isRefusing && !call.IsOneWay)
            {
                refusal = StatusMapping.ServerStopping;
                return false;
            }
        }

        return TryEnterGates(call.Ticket ??= new CallTicket(call), requestBytes, out refusal);
    }

    /// <summary>Continues with a call that was let into the gate at which it waited.</summary>
    public void OnGateEntered(CallTicket ticket)
    {
        // A one-way call still runs.
        if (Connection.CloseReason is not null && !ticket.Call.IsOneWay)
        {
            ticket.Call.EndWithoutResponse();
        }

        AdvanceStage(ticket);
        if (ticket.Call.IsEnded)
        {
            ReleaseLater(ticket.Call);
        }
        else if (TryEnterGates(ticket, requestBytes: 0, out _))
        {
            ticket.QueueStart(); // a call that has waited is counted and charged already, so it cannot be refused
        }
    }

    /// <summary>
    /// Makes a call wait again whose method is about to start, while the client leaves responses unread. Many calls may
    /// have been let in before the first of them had a response. Returns true if the call waits or was refused.
    /// </summary>
    public bool TryRequeue(ServerCall call, int requestBytes)
    {
        if (!IsPausedByUnreadResponses || call.IsOneWay || call.IsEnded || call.Ticket is { HasBorrowed: true })
        {
            return false;
        }

        CallTicket ticket = call.Ticket ??= new CallTicket(call) { Stage = CallStage.EnteredServer };
        if (_connectionGate.TryBorrowInside(ticket))
        {
            // A running method may wait for this call, and the client may wait for the response of that method.
            return false;
        }

        Status? refusal = _isRefusing && !ticket.IsExemptFromStop
            ? StatusMapping.ServerStopping
            : Queue(ticket, _connectionGate, requestBytes);
        if (refusal is { } why)
        {
            call.Refuse(why);
            return true;
        }

        ReportWait(_connectionGate);
        _ = AddPending(ticket); // the result is not needed: the call was already counted as inside the gate
        ticket.Stage = CallStage.EnteredOrder;
        _serverGate.Leave(); // A call of another connection takes its place.
        _connectionGate.WaitAgain(ticket);
        StopWaitingIfEnded(ticket, _connectionGate);
        return true;
    }

    /// <summary>
    /// Takes a call off the counts that has ended before its method began. Begins another one in its place.
    /// </summary>
    public void OnCallNeverStarted(ServerCall call)
    {
        if (call.Ticket is { } ticket)
        {
            ticket.LeaveOrder();
            LeaveGates(ticket, ticket.Stage, running: null);
            RemoveWaiting(ticket);
        }

        OnGatesLeft(call);
    }

    /// <summary>Takes a call off the counts whose method has ended. Begins another one in its place.</summary>
    public void OnMethodEnded(ServerCall call)
    {
        // The running call ends first: nobody borrows its place from here on (running_call_ends_first).
        call.RunningCall?.End();
        if (call.Ticket is { } ticket)
        {
            ticket.LeaveOrder();
        }

        LeaveGates(call.Ticket, call.Ticket?.Stage ?? CallStage.EnteredServer, call.RunningCall);
        OnGatesLeft(call);
    }

    /// <summary>
    /// Leaves the server's gate for a call whose response must wait. Only its client decides how long that takes, so
    /// the call must not keep a place that others need.
    /// </summary>
    public void LeaveServerGate(ServerCall call)
    {
        call.RunningCall?.End();
        CallTicket ticket = call.Ticket ??= new CallTicket(call);
        ticket.Stage = CallStage.EnteredConnection;
        _serverGate.Leave(ticket, call.RunningCall);
    }

    /// <summary>
    /// Makes a call the parent of the calls that its method makes. Called on the thread that is about to run the
    /// method.
    /// </summary>
    public void SetRunningCall(ServerCall call)
    {
        var running = new RunningCall(call, _serverGate, call.Ticket?.Parent);
        call.RunningCall = running;
        RunningCall.Set(running);
    }

    // Removes the waiting calls from all gates and refuses them. A call that arrives at a gate later reads _isRefusing.
    private void RefuseWaiting()
    {
        foreach (CallGate gate in (IEnumerable<CallGate>)[.. _orderGates?.Values ?? [], _connectionGate, _serverGate])
        {
            foreach (GateTicket ticket in gate.TakeOut(this, static one => !((CallTicket)one).IsExemptFromStop))
            {
                ((CallTicket)ticket).Call.Refuse(StatusMapping.ServerStopping);
            }
        }
    }

    private CallGate GetOrderGate(string service)
    {
        _orderGates ??= new ConcurrentDictionary<string, CallGate>(concurrencyLevel: 1, capacity: 1);
        return UninterruptibleLock.Run((_orderGates, service), static find => find._orderGates.GetOrAdd(
            find.service, static _ => new CallGate(limit: 1)));
    }

    /// <summary>Enters the gates of a call in turn. Returns whether the call has entered all of them.</summary>
    private bool TryEnterGates(CallTicket ticket, int requestBytes, out Status? refusal)
    {
        refusal = null;
        while (ticket.Stage < CallStage.EnteredServer)
        {
            CallGate gate = ticket.Stage switch
            {
                CallStage.BeforeOrder => ticket.OrderGate!,
                CallStage.EnteredOrder => _connectionGate,
                _ => _serverGate,
            };
            if (!gate.TryEnter(ticket))
            {
                refusal = Queue(ticket, gate, requestBytes);
                if (refusal is not null)
                {
                    return false;
                }

                ReportWait(gate);
                if (ticket.Stage < CallStage.EnteredConnection)
                {
                    refusal = AddPending(ticket);
                    if (refusal is not null)
                    {
                        return false;
                    }
                }

                if (gate.EnterOrWait(ticket) == GateResult.Waiting)
                {
                    StopWaitingIfEnded(ticket, gate);
                    return false;
                }
            }

            if (!AdvanceStage(ticket))
            {
                refusal = StatusMapping.ServerStopping;
                return false;
            }
        }

        RemoveWaiting(ticket);
        return true;
    }

    // Returns false if the stop of the connection may have missed the call, which must then be refused.
    private bool AdvanceStage(CallTicket ticket)
    {
        ticket.Stage++;
        if (ticket.Stage != CallStage.EnteredConnection)
        {
            return true;
        }

        bool wasCounted = ticket.IsPending;
        RemovePending(ticket);
        return wasCounted || !_isRefusing || ticket.IsExemptFromStop;
    }

    // A thread that ended the call, or a stop, may have searched the gates before the call was in one.
    private void StopWaitingIfEnded(CallTicket ticket, CallGate gate)
    {
        Interlocked.MemoryBarrier(); // StoreLoad: such a thread sees the call in the gate, or this one its end
        if (ticket.Call.IsEnded && gate.TryTakeOut(ticket))
        {
            ReleaseLater(ticket.Call);
        }
        else if (_isRefusing && !ticket.IsExemptFromStop && gate.TryTakeOut(ticket))
        {
            PoolWork.Queue(static call => call.Refuse(StatusMapping.ServerStopping), ticket.Call);
        }
    }

    // Runs on the pool to bound recursion: the release lets the next call in, which may also have ended.
    private static void ReleaseLater(ServerCall ended) =>
        PoolWork.Queue(static call => call.ReleaseWithoutStart(), ended);

    private void LeaveGates(CallTicket? ticket, CallStage stage, RunningCall? running)
    {
        if (stage == CallStage.EnteredServer)
        {
            _serverGate.Leave(ticket, running);
        }

        if (stage >= CallStage.EnteredConnection)
        {
            _connectionGate.Leave(ticket, running);
        }
    }

    private void OnGatesLeft(ServerCall call)
    {
        if (call.IsOneWay)
        {
            OnOneWayMethodEnded(call);
        }

        if (_hasResponseWaiters)
        {
            ReleaseResponses();
        }

        CompleteIfDrained();
    }
}
