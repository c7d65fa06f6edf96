using System.Diagnostics;
using Grpc.Core;
using RpcOverShm.Protocol;
using RpcOverShm.Scheduling;
using RpcOverShm.Sending;

namespace RpcOverShm.Clients;

/// <summary>
/// An outgoing one-way call: it ends when its request is in the ring, and nothing comes back for it. It is an awaited
/// or a blocking call.
/// </summary>
internal abstract class OneWayCall : ClientCall
{
    private volatile bool _isSent;

    protected OneWayCall(AutoResetLatch? waiter)
    {
        IsOneWay = true;
        Waiter = waiter;
    }

    /// <summary>Ends the call, whose request is in the ring, on the thread that sent it.</summary>
    public void EndAsSent()
    {
        _isSent = true;
        if (Waiter is null)
        {
            Execute(PendingUserCode.Complete);
        }
        else
        {
            SetDone();
        }
    }

    public override void OnSentOneWay()
    {
        _isSent = true;
        if (Waiter is null)
        {
            QueueUserCode(PendingUserCode.Complete);
        }
        else
        {
            SetDone();
            Waiter.Signal();
        }
    }

    public override void OnMessage(uint wholeLength, ReadOnlySpan<byte> bytes, FrameFlags flags) =>
        throw new UnreachableException("The receiver finds no one-way call.");

    public override void OnMessageChunk(ReadOnlySpan<byte> bytes, FrameFlags flags) =>
        throw new UnreachableException("The receiver finds no one-way call.");

    /// <summary>Settles the outcome of a call that was sent, or could not be because its connection closed.</summary>
    protected void Settle()
    {
        if (IsFinished)
        {
            return;
        }

        if (_isSent)
        {
            SetHeaders(Metadata.Empty);
            TrySettle(CallOutcome.Success, isCancel: false);
        }
        else if (ServerOutcome is { } end)
        {
            TrySettle(end, isCancel: false);
        }
    }

    protected override void Start(object snapshot) =>
        throw new UnreachableException("A one-way call has no snapshot.");

    // A private call's end is settled by its own thread.
    protected override bool IsOutcome(CallOutcome end) => !IsPrivate;

    // The connection was closed before the request was in the ring.
    protected override void OnEnded(ReadOnlySpan<byte> message, bool hasMessage)
    {
        if (Waiter is null)
        {
            AddUserCode(PendingUserCode.Complete);
        }
        else
        {
            SetDone();
        }
    }
}
