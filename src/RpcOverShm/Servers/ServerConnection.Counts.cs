using Grpc.Core;
using RpcOverShm.Calls;
using RpcOverShm.Diagnostics;

namespace RpcOverShm.Servers;

/// <content>The counts and the bytes of calls that have not begun, and the end of all methods.</content>
internal sealed partial class ServerConnection
{
    // The objects of a call that has not begun, besides the texts of its head and its request.
    private const int CallBytes = 1 << 10;

    private int _pending; // admitted calls that wait for their request, their order or a place here
    private int _queued;  // calls that wait for their order or a place
    private TaskCompletionSource? _drained;

    /// <summary>The calls that wait for their turn.</summary>
    public int Queued => Volatile.Read(ref _queued);

    /// <summary>
    /// The number of methods that run or wait, for their turn or for the rest of their request. Concurrent changes can
    /// make the number too high, never too low.
    /// </summary>
    public int PendingOrRunning
    {
        get
        {
            // A call that enters the gate is added to Inside before it is subtracted from _pending. A call that waits
            // again is added to _pending before it is subtracted from Inside. So _pending is read before and after
            // Inside.
            int pending = Volatile.Read(ref _pending);
            int inside = _connectionGate.Inside;
            return Math.Max(pending, Volatile.Read(ref _pending)) + inside;
        }
    }

    /// <summary>
    /// Counts an admitted call that waits for the end of its request. Returns null, or the status of its refusal.
    /// </summary>
    public Status? CountAndCharge(CallTicket ticket) => AddPending(ticket) ?? Charge(ticket, requestBytes: 0);

    // StoreLoad: the caller has reduced a count by an interlocked operation. WhenEmptyAsync stores the source before it
    // reads the counts.
    private void CompleteIfDrained()
    {
        if (Volatile.Read(ref _drained) is not null && PendingOrRunning == 0)
        {
            Interlocked.Exchange(ref _drained, null)?.TrySetResult();
        }
    }

    private Task WhenEmptyAsync()
    {
        var made = new TaskCompletionSource(TaskCreationOptions.RunContinuationsAsynchronously);
        TaskCompletionSource drained = Interlocked.CompareExchange(ref _drained, made, null) ?? made;
        CompleteIfDrained();
        return drained.Task;
    }

    /// <summary>Counts and charges a call that waits. Returns null, or the status of its refusal.</summary>
    private Status? Queue(CallTicket ticket, CallGate gate, int requestBytes)
    {
        if (ticket.IsQueued)
        {
            return null;
        }

        bool isPaused = gate != _serverGate && IsPausedByUnreadResponses;
        int most = Limits.MaxQueuedPerConnection;
        if (_orderGates is not null)
        {
            // Calls that wait at their order gate do not need a place of the connection yet, so as many more may wait.
            most += Math.Max(0, Limits.MaxCallsPerConnection - _connectionGate.Inside);
        }

        if (!ticket.Call.IsOneWay && Queued >= most)
        {
            ReportRefusal(ServerLimits.QueuedOption, Limits.MaxQueuedPerConnection);
            return isPaused
                ? StatusMapping.BufferFull(BufferBudget)
                : StatusMapping.TooManyWaiting(GetOption(gate), GetLimit(gate), Limits.MaxQueuedPerConnection);
        }

        if (Charge(ticket, requestBytes) is { } refusal)
        {
            return isPaused ? StatusMapping.BufferFull(BufferBudget) : refusal;
        }

        // The number of one-way calls that wait has no limit here, so that none is lost: their window bounds it.
        ticket.IsQueued = true;
        if (!ticket.Call.IsOneWay)
        {
            Interlocked.Increment(ref _queued);
        }

        ProcessCounts.QueuedCalls.Add();
        return null;
    }

    private Status? Charge(CallTicket ticket, int requestBytes)
    {
        if (ticket.ChargedBytes > 0)
        {
            return null;
        }

        long bytes = CallBytes + ticket.Call.HeadBytes + requestBytes;
        if (BufferBudget.Take(bytes) is { } full)
        {
            ReportRefusal(full.Option, full.LimitBytes);
            return StatusMapping.BufferFull(full);
        }

        ticket.ChargedBytes = bytes;
        return null;
    }

    private string GetOption(CallGate gate) =>
        gate == _serverGate ? ServerLimits.CallsOption : ServerLimits.PerConnectionOption;

    private long GetLimit(CallGate gate) => gate == _serverGate ? Limits.MaxCalls!.Value : Limits.MaxCallsPerConnection;

    private void ReportRefusal(string option, long limit) => LimitEvents.Reached(
        Settings.Logger, option, limit, $"{PeerName}: a call was refused.");

    // A burst of calls is logged as information, a client that does not read its responses as a warning.
    private void ReportWait(CallGate gate)
    {
        if (gate.Waiting > 0 || (gate != _connectionGate && gate != _serverGate))
        {
            return;
        }

        if (gate == _connectionGate && IsPausedByUnreadResponses)
        {
            LimitEvents.Reached(
                Settings.Logger,
                BufferBudget.Option,
                BufferBudget.LimitBytes,
                $"{PeerName}: the client leaves responses unread, so its calls wait.");
            return;
        }

        string who = gate == _connectionGate
            ? $"{PeerName}: its calls wait for their turn."
            : $"calls wait for their turn, the first of {PeerName}.";
        LimitEvents.Waited(Settings.Logger, GetOption(gate), GetLimit(gate), who);
    }

    /// <summary>
    /// Counts a call as pending. Returns the status of its refusal if the server stops and the stop may have missed the
    /// call.
    /// </summary>
    private Status? AddPending(CallTicket ticket)
    {
        if (ticket.IsPending)
        {
            return null;
        }

        ticket.IsPending = true;

        // StoreLoad: the call is counted before the flag of the stop is read; the stop sets the flag before it counts.
        Interlocked.Increment(ref _pending);
        return _isRefusing && !ticket.IsExemptFromStop ? StatusMapping.ServerStopping : null;
    }

    /// <summary>Subtracts a call from the pending ones: it has entered the gate of the connection.</summary>
    private void RemovePending(CallTicket ticket)
    {
        if (ticket.IsPending)
        {
            ticket.IsPending = false;
            Interlocked.Decrement(ref _pending);
        }
    }

    /// <summary>Takes a call off the counts of those that have not begun.</summary>
    private void RemoveWaiting(CallTicket ticket)
    {
        RemovePending(ticket);
        if (ticket.IsQueued)
        {
            ticket.IsQueued = false;
            if (!ticket.Call.IsOneWay)
            {
                Interlocked.Decrement(ref _queued);
            }

            ProcessCounts.QueuedCalls.Remove();
        }

        if (ticket.ChargedBytes > 0)
        {
            BufferBudget.Give(ticket.ChargedBytes);
            ticket.ChargedBytes = 0;
        }
    }
}
