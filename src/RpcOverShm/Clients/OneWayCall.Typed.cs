using System.Runtime.CompilerServices;
using Grpc.Core;
using RpcOverShm.Scheduling;
using RpcOverShm.Sending;

namespace RpcOverShm.Clients;

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
