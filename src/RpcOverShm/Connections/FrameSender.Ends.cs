using System.Diagnostics;

namespace RpcOverShm.Connections;

/// <content>The ends of calls: dropped frames, messages that stop early, and cancels.</content>
internal sealed partial class FrameSender
{
    /// <summary>Sends nothing more of a call, because it or its connection ended. Drops its queued frames.</summary>
    public void Drop(ConnectionCall call)
    {
        using (SendGate.Scope scope = _gate.Enter())
        {
            call.Sending.Phase = CallSendPhase.Finished;
            OutboundQueue.Drop(call);
        }
    }

    /// <summary>Forgets an incoming call that will send no End, because the connection is closed.</summary>
    public void Forget(ConnectionCall call)
    {
        using SendGate.Scope scope = _gate.Enter();
        Incoming.Remove(call);
    }

    /// <summary>
    /// Stops sending messages of an incoming call, so that its End does not wait for credit. A peer that has cancelled
    /// the call, or that does not read, grants no credit.
    /// </summary>
    public void StopMessages(ConnectionCall call)
    {
        using (SendGate.Scope scope = _gate.Enter())
        {
            call.Sending.StopMessages();
            if (scope.IsClosed || !call.Sending.HasQueued)
            {
                return;
            }

            _queue.EnqueueReady(call);
        }

        SendReady();
    }

    /// <summary>
    /// Drops the queued frames of an outgoing call that the peer has refused, before its transparent retry.
    /// </summary>
    public void DropRefused(ConnectionCall call)
    {
        bool hasMoved;
        using (SendGate.Scope scope = _gate.Enter())
        {
            Debug.Assert(
                !call.Sending.Is(SendStateFlags.ReaderSends), "The role's holder has sent before it handled the End.");
            hasMoved = _queue.Remove(call);
        }

        if (hasMoved)
        {
            // The calls that were queued behind the removed call may need less space.
            SendReady();
        }
    }

    /// <summary>
    /// Abandons an outgoing call, whether or not its start was sent. Drops its queued frames and, if the peer knows the
    /// call and <paramref name="isCancel"/> is true, sends a cancel, after a half-close if only that was queued. A
    /// caller passes false if the peer has ended the call.
    /// </summary>
    public void Abandon(ConnectionCall call, bool isCancel)
    {
        using (SendGate.Scope scope = _gate.Enter())
        {
            CallSendPhase phase = call.Sending.Phase;
            bool isHalfClosed = call.Sending.HasOnlyHalfClose;
            call.Sending.Phase = phase == CallSendPhase.New ? CallSendPhase.Withdrawn : CallSendPhase.Finished;
            OutboundQueue.Drop(call);
            bool isNew = phase == CallSendPhase.New && !scope.IsClosed;
            if (isNew && !call.Id.IsNone)
            {
                Outgoing.Withdraw(call);
                OneWayCalls.WakeFirst(); // the first waiting one-way call may wait for this slot
            }

            if (call.IsOneWay)
            {
                if (isNew && !call.Id.IsNone)
                {
                    OneWayCalls.Return(call);
                }

                OneWayCalls.Leave(call);
            }

            // A one-way call whose last frame was written has completed, so it is not cancelled.
            if (phase != CallSendPhase.Open || scope.IsClosed || !isCancel
                || (call.IsOneWay && call.IsRequestKnownComplete))
            {
                return;
            }

            call.Sending.Set(SendStateFlags.HalfClosePending, isHalfClosed);
            call.Sending.Set(SendStateFlags.CancelPending);
            _queue.EnqueueControl(call);
        }

        SendReady();
    }

    /// <summary>
    /// Stops sending parts of messages because the call ends; another thread may still be sending some. Returns true if
    /// a message was sent in part and its rest is not queued. The message is then dropped, and the call must not end
    /// with OK.
    /// </summary>
    public bool StopParts(ConnectionCall call)
    {
        using (_gate.Enter())
        {
            call.Sending.Set(SendStateFlags.PartsStopped);
            bool isBroken = call.Sending.Is(SendStateFlags.MessageBegun) && !call.Sending.HasQueued;
            if (isBroken)
            {
                call.Sending.StopMessages();
            }

            return isBroken;
        }
    }
}
