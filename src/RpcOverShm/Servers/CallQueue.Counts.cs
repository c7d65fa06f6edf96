using Grpc.Core;
using RpcOverShm.Calls;
using RpcOverShm.Diagnostics;
using RpcOverShm.Protocol;

namespace RpcOverShm.Servers;

/// <content>The counts and the bytes of calls that have not begun.</content>
internal sealed partial class CallQueue
{
    // The objects of a call that has not begun, besides its metadata and request.
    private const int CallBytes = 1 << 10;
    /// <summary>Counts and charges a call that waits. Returns null, or the status of its refusal.</summary>
    private Status? TryQueue(CallTurn turn, int requestBytes, string option, long limit)
    {
        if (!turn.Call.IsOneWay && Volatile.Read(ref _queued) >= _limits.Queued)
        {
            Refused(ServerLimits.QueuedOption, _limits.Queued);
            return StatusMapping.TooManyWaiting(option, limit, _limits.Queued);
        }

        if (TryCharge(turn, requestBytes) is { } refusal)
        {
            return refusal;
        }

        // The window of one-way calls bounds those that wait, and so that none is lost, nothing else does.
        turn.IsQueued = true;
        Interlocked.Add(ref _queued, turn.Call.IsOneWay ? 0 : 1);
        ProcessCounts.QueuedCalls.Add();
        return null;
    }

    private Status? TryCharge(CallTurn turn, int requestBytes)
    {
        if (turn.ChargedBytes > 0)
        {
            return null;
        }

        long bytes = CallBytes + MetadataCodec.MeasureKeptBytes(turn.Call.RequestHeaders) + requestBytes;
        if (Budget.TryTake(bytes) is { } full)
        {
            Refused(full.Option, full.LimitBytes);
            return StatusMapping.BufferFull(full);
        }

        turn.ChargedBytes = bytes;
        return null;
    }

    private void Refused(string option, long limit) => LimitEvents.Reached(
        _owner.Settings.Logger, option, limit, $"{_owner.PeerName}: a call was refused.");

    // A burst of calls is no cause for alarm; a client that does not read its answers may be one.
    private void ReportWait(string option, long limit, bool isHeldByAnswers)
    {
        if (isHeldByAnswers)
        {
            LimitEvents.Reached(
                _owner.Settings.Logger,
                option,
                limit,
                $"{_owner.PeerName}: it does not read its answers, and calls wait for their turn.");
        }
        else
        {
            LimitEvents.Waited(
                _owner.Settings.Logger, option, limit, $"{_owner.PeerName}: its calls wait for their turn.");
        }
    }

    /// <summary>Takes a call off the count of unbegun ones: it has a place on the connection.</summary>
    private void SetPlaced(CallTurn turn)
    {
        if (turn.IsUnbegun)
        {
            turn.IsUnbegun = false;
            Interlocked.Decrement(ref _unbegun);
        }
    }

    /// <summary>Takes a call off the counts of those that have not begun.</summary>
    private void SetBegun(CallTurn turn)
    {
        SetPlaced(turn);
        if (turn.IsQueued)
        {
            turn.IsQueued = false;
            Interlocked.Add(ref _queued, turn.Call.IsOneWay ? 0 : -1);
            ProcessCounts.QueuedCalls.Remove();
        }

        if (turn.ChargedBytes > 0)
        {
            Budget.Give(turn.ChargedBytes);
            turn.ChargedBytes = 0;
        }
    }
}
