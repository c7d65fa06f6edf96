using Grpc.Core;
using RpcOverShm.Connections;
using RpcOverShm.Diagnostics;

namespace RpcOverShm.Clients;

/// <content>
/// One-way calls. Such a call completes for its user when its last frame is in the ring. Its End frame returns its
/// capacity later. A failure in the End is passed to the handler of the invoker.
/// </content>
internal abstract partial class ClientCall
{
    /// <summary>
    /// Handles the failure of a one-way call after it was sent; null for no handler. Set before the call starts.
    /// </summary>
    public Action<IMethod, Status>? OnFailed
    {
        get => _snapshotOrHandler as Action<IMethod, Status>;
        init => _snapshotOrHandler = value;
    }

    // A one-way call that waits for capacity starts on another connection once this one accepts no more calls.
    private bool IsBetweenConnections =>
        IsOneWay && Connection is { IsOpenForCalls: false } && Sending.Phase == CallSendPhase.New;

    /// <summary>
    /// Completes a one-way call whose request is in the ring. Called by the thread that has sent it. This method never
    /// runs the handler of failures.
    /// </summary>
    public void EndAsSent()
    {
        SettleIfSent();
        if (Latch is null)
        {
            CompleteOneWay();
        }
        else
        {
            EndWait();
        }
    }

    public override void OnOneWaySent()
    {
        SettleIfSent(); // from here on a deadline, token or Dispose has no effect
        if (Latch is { } latch)
        {
            EndWait();
            latch.Signal();
        }
        else
        {
            QueueUserCode(PendingUserCode.Complete);
        }
    }

    /// <summary>
    /// Settles the outcome of a one-way call that was sent. The thread that completes it calls
    /// <see cref="ReleaseCancellation"/>: this one may hold the sender's gate.
    /// </summary>
    protected void SettleIfSent()
    {
        if (IsOneWay && IsRequestKnownComplete && !IsFinished)
        {
            SetHeaders(Metadata.Empty);
            TrySetOutcome(CallOutcome.Success);
        }
    }

    /// <summary>Completes the task of the user of a one-way call, if its outcome is settled.</summary>
    protected virtual void CompleteOneWay() => throw new InvalidOperationException("The call is not one-way.");

    /// <summary>Releases the deadline and the token.</summary>
    protected void ReleaseCancellation() => Volatile.Read(ref _cancellation)?.Release();

    /// <summary>Clears the latch of a one-way call that was sent: its thread uses it again.</summary>
    protected void ClearLatch() => Latch = null;

    /// <summary>Runs the handler of failures for a call that was sent, and then returns its capacity.</summary>
    protected void ReportFailure(IMethod method)
    {
        try
        {
            OnFailed!(method, ServerOutcome!.Status);
        }
        catch (Exception exception)
        {
            ShmLog.OneWayHandlerThrew(Settings.Logger, MethodName, exception);
        }

        _connection!.ReturnWindow(this, isReader: false);
    }

    /// <summary>Ends a one-way call by its End, or with its connection.</summary>
    /// <param name="end">The end.</param>
    /// <param name="isClosedLocally">
    /// Whether this side has closed the connection. The end of the call is then unknown and not reported.
    /// </param>
    private void EndOneWay(CallOutcome end, bool isClosedLocally)
    {
        SettleIfSent();
        _serverOutcome = end;
        if (!IsFinished && TrySettle(end, isCancel: false))
        {
            NotifyWaiters();
        }
        else if (Outcome.IsOk && !end.IsOk && !isClosedLocally && OnFailed is not null)
        {
            MarkEndStored();
            AddUserCode(PendingUserCode.Complete);
            return; // Its capacity is free when the handler has returned.
        }

        Connection!.ReturnWindow(this, isReader: true);
    }
}
