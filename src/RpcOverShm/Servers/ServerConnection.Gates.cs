using System.Collections.Concurrent;
using Grpc.Core;
using RpcOverShm.Calls;
using RpcOverShm.Connections;
using RpcOverShm.Diagnostics;
using RpcOverShm.Protocol;

namespace RpcOverShm.Servers;

/// <content>
/// The way of a call to its method, through the gates: the order of its service, if it has one; the connection; the
/// server. While no limit is near, that is one interlocked operation. The holder of the reader role begins the way; the
/// thread that lets the call into a gate goes on.
/// </content>
internal sealed partial class ServerConnection
{
    // The call that this thread has just brought to its first await, and whose follower it will start.
    [ThreadStatic]
    private static CallTicket? s_started;

    private readonly CallGate _serverGate;
    private readonly CallGate _connectionGate;
    private ConcurrentDictionary<string, CallGate>? _orders; // by service

    /// <summary>
    /// Whether calls that methods make can be callbacks or wait at a full gate. Running calls are then tracked from the
    /// first on, because a long one began before the limit was reached.
    /// </summary>
    public bool TracksRunningCalls => IsOfThisProcess || Connection.IsPeerServing || !_serverGate.IsUnlimited;

    /// <summary>
    /// Returns a call with its chain, by the name of the parent that its head has; null if no call of this side is in
    /// front of it. Only the holder of the reader role calls this.
    /// </summary>
    public CallTicket? FindChain(ServerCall call, ParentCall name)
    {
        if (Connection.FindCallbackOrigin(name) is { } caller)
        {
            // Nobody waits for what a one-way call does.
            RunningCall? maker = caller.IsOneWay ? null : (caller as INestedCall)?.Parent;
            return new CallTicket(call, maker?.ServerGate == _serverGate ? maker : null, caller);
        }

        return IsOfThisProcess && RunningCall.Find(name, _serverGate) is { } parent
            ? new CallTicket(call, parent)
            : null;
    }

    /// <summary>
    /// Returns whether an admitted call may begin now. If not, it waits, or <paramref name="refusal"/> is its status.
    /// Only the holder of the reader role calls this, and <see cref="OnNeverBegun"/> after a refusal.
    /// </summary>
    public bool TryBegin(ServerCall call, int requestBytes, out Status? refusal)
    {
        refusal = null;
        if (call.Handler.IsOrdered && call.Ticket is not { IsOfChain: true })
        {
            call.Ticket ??= new CallTicket(call);
            call.Ticket.SetOrder(OrderOf(call.Handler.ServiceName));
        }

        if (call.Ticket is null && !IsPausedByAnswers && _connectionGate.TryEnter())
        {
            // StoreLoad: inside before it looks for the stop, which looks for calls inside after it has begun.
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

    /// <summary>Goes on with a call that was let into the gate at which it waited.</summary>
    public void OnGateEntered(CallTicket ticket)
    {
        if (Connection.CloseReason is not null)
        {
            ticket.Call.EndWithConnection();
        }

        Advance(ticket);
        if (ticket.Call.IsEnded)
        {
            ReleaseLater(ticket.Call);
        }
        else if (TryEnterGates(ticket, requestBytes: 0, out _))
        {
            StartLater(ticket); // One that has waited was counted and charged, so it is not refused.
        }
    }

    /// <summary>
    /// Makes a call wait again, although its method was about to begin, while the client leaves responses unread: many
    /// calls may have been let in before the first response existed. Returns true if the call waits or was refused.
    /// </summary>
    public bool TryPutBack(ServerCall call, int requestBytes)
    {
        if (!IsPausedByAnswers || call.IsOneWay || call.IsEnded || call.Ticket is { HasBorrowed: true })
        {
            return false;
        }

        CallTicket ticket = call.Ticket ??= new CallTicket(call) { Stage = CallStage.EnteredServer };
        if (_connectionGate.TryBorrowInside(ticket))
        {
            return false; // A method that waits for it may be one whose answer the client reads next.
        }

        Status? refusal = _isRefusing && !ticket.IsSparedByStop
            ? StatusMapping.ServerStopping
            : TryQueue(ticket, _connectionGate, requestBytes);
        if (refusal is { } why)
        {
            call.Refuse(why);
            return true;
        }

        ReportWait(_connectionGate);
        _ = CountPending(ticket); // It is counted as one inside.
        ticket.Stage = CallStage.EnteredOrder;
        _serverGate.Leave(); // A call of another connection takes its place.
        _connectionGate.WaitAgain(ticket);
        StopWaitingIfEnded(ticket, _connectionGate);
        return true;
    }

    /// <summary>Uncounts a call that has ended before its method began. Begins another one in its place.</summary>
    public void OnNeverBegun(ServerCall call)
    {
        if (call.Ticket is { } ticket)
        {
            LeaveOrder(ticket);
            LeaveGates(ticket, ticket.Stage, running: null);
            UncountWaiting(ticket);
        }

        AfterLeaving(call);
    }

    /// <summary>Uncounts a call whose method has ended. Begins another one in its place.</summary>
    public void OnMethodEnded(ServerCall call)
    {
        // The running call ends first: nobody borrows its place from here on (name_goes_first).
        call.Running?.End();
        if (call.Ticket is { } ticket)
        {
            LeaveOrder(ticket);
        }

        LeaveGates(call.Ticket, call.Ticket?.Stage ?? CallStage.EnteredServer, call.Running);
        AfterLeaving(call);
    }

    /// <summary>
    /// Gives the server's place of a call to others, before it waits to answer: its client alone decides for how long.
    /// </summary>
    public void LeaveServerGate(ServerCall call)
    {
        call.Running?.End();
        CallTicket ticket = call.Ticket ??= new CallTicket(call);
        ticket.Stage = CallStage.EnteredConnection;
        _serverGate.Leave(ticket, call.Running);
    }

    /// <summary>
    /// Notes that a method has come to its first await, or that its call has ended without. The next call of the order
    /// goes on; if this thread runs the first part, it starts that one afterwards.
    /// </summary>
    public static void LeaveOrder(CallTicket ticket)
    {
        if (ticket.TakeOrder() is not { } order)
        {
            return;
        }

        if (ticket.Stage == CallStage.BeforeOrder)
        {
            return; // It has not come to the gate, or has ended there.
        }

        if (ticket.StartingThread != Environment.CurrentManagedThreadId)
        {
            order.Leave();
            return;
        }

        s_started = ticket;
        order.Leave();
        s_started = null;
    }

    /// <summary>Makes a call that is about to run known to the calls of its method.</summary>
    public void SetRunningCall(ServerCall call)
    {
        var running = new RunningCall(call, _serverGate, call.Ticket?.Parent);
        call.Running = running;
        RunningCall.Set(running);
    }

    // Takes the waiting calls out of all gates and refuses them. Those that would have to wait later see the flag.
    private void RefuseWaiting()
    {
        foreach (CallGate gate in (IEnumerable<CallGate>)[.. _orders?.Values ?? [], _connectionGate, _serverGate])
        {
            foreach (GateTicket ticket in gate.TakeOut(this, static one => !((CallTicket)one).IsSparedByStop))
            {
                ((CallTicket)ticket).Call.Refuse(StatusMapping.ServerStopping);
            }
        }
    }

    private CallGate OrderOf(string service)
    {
        _orders ??= new ConcurrentDictionary<string, CallGate>(concurrencyLevel: 1, capacity: 1);
        return Gate.Uninterrupted((_orders, service), static find => find._orders.GetOrAdd(
            find.service, static _ => new CallGate(limit: 1)));
    }

    /// <summary>Brings a call through the gates before it. Returns whether it has entered all.</summary>
    private bool TryEnterGates(CallTicket ticket, int requestBytes, out Status? refusal)
    {
        refusal = null;
        while (ticket.Stage < CallStage.EnteredServer)
        {
            CallGate gate = ticket.Stage switch
            {
                CallStage.BeforeOrder => ticket.Order!,
                CallStage.EnteredOrder => _connectionGate,
                _ => _serverGate,
            };
            if (!gate.TryEnter(ticket))
            {
                refusal = TryQueue(ticket, gate, requestBytes);
                if (refusal is not null)
                {
                    return false;
                }

                ReportWait(gate);
                if (ticket.Stage < CallStage.EnteredConnection)
                {
                    refusal = CountPending(ticket);
                    if (refusal is not null)
                    {
                        return false;
                    }
                }

                if (gate.EnterOrWait(ticket) == false)
                {
                    StopWaitingIfEnded(ticket, gate);
                    return false;
                }
            }

            if (!Advance(ticket))
            {
                refusal = StatusMapping.ServerStopping;
                return false;
            }
        }

        UncountWaiting(ticket);
        return true;
    }

    // Returns false if the call came while the connection began to stop, which has not seen it.
    private bool Advance(CallTicket ticket)
    {
        ticket.Stage++;
        if (ticket.Stage != CallStage.EnteredConnection)
        {
            return true;
        }

        bool wasCounted = ticket.IsPending;
        UncountPending(ticket);
        return wasCounted || !_isRefusing || ticket.IsSparedByStop;
    }

    private static void StartLater(CallTicket ticket)
    {
        if (s_started is { NextInOrder: null } started && ticket.Order is not null)
        {
            started.NextInOrder = ticket;
        }
        else
        {
            ticket.Call.QueueUserCode(PendingUserCode.Start);
        }
    }

    // A thread that has ended the call, or a stop, may have looked for it before it waited.
    private void StopWaitingIfEnded(CallTicket ticket, CallGate gate)
    {
        if (ticket.Call.IsEnded && gate.TryTakeOut(ticket))
        {
            ReleaseLater(ticket.Call);
        }
        else if (_isRefusing && !ticket.IsSparedByStop && gate.TryTakeOut(ticket))
        {
            PoolWork.Queue(static call => call.Refuse(StatusMapping.ServerStopping), ticket.Call);
        }
    }

    // Not on this thread: the call lets in the next one, which may have ended too, and so on.
    private static void ReleaseLater(ServerCall ended) => PoolWork.Queue(static call => call.ReleaseUnbegun(), ended);

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

    private void AfterLeaving(ServerCall call)
    {
        if (call.IsOneWay)
        {
            OnOneWayOver(call);
        }

        if (_hasAnswers)
        {
            LetAnswer();
        }

        CompleteDrain();
    }
}
