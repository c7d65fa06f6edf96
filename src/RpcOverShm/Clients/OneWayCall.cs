using System.Diagnostics;
using System.Runtime.CompilerServices;
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

/// <summary>An outgoing one-way call with the response that it seems to have: an empty one.</summary>
internal sealed class OneWayCall<TResponse> : OneWayCall
    where TResponse : class
{
    private readonly AnsweredMethod<TResponse> _method;
    private AsyncTaskMethodBuilder<TResponse> _response; // a task source that is not a separate object

    public OneWayCall(AnsweredMethod<TResponse> method, AutoResetLatch? waiter)
        : base(waiter)
    {
        _method = method;
        if (waiter is null)
        {
            // The first use creates the task and is not thread-safe, so it comes before other threads know the call.
            _ = _response.Task;
        }
    }

    public override string MethodName => _method.Name;

    /// <summary>Completes when an awaited call was sent.</summary>
    public Task<TResponse> ResponseAsync => _response.Task;

    protected override ClientSettings Settings => _method.Settings;

    /// <summary>Returns the response of a blocking call that is done.</summary>
    /// <exception cref="RpcException">The call was not sent.</exception>
    public TResponse TakeResponse()
    {
        Settle();
        return Outcome.IsOk ? _method.CreateEmptyResponse()! : throw ToException(Outcome);
    }

    protected override void Execute(PendingUserCode work)
    {
        Settle();
        if (!IsFinished || !TryComplete())
        {
            return;
        }

        CallOutcome outcome = Outcome;
        if (outcome.IsOk)
        {
            _response.SetResult(_method.CreateEmptyResponse()!);
            return;
        }

        _response.SetException(ToException(outcome));

        // Marks the exception as observed: the user may check the call's status only.
        _ = _response.Task.Exception;
    }
}
