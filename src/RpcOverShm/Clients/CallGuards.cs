using RpcOverShm.Calls;

namespace RpcOverShm.Clients;

/// <summary>
/// What can end a call from this side besides its user: the deadline and the caller's token. Only calls that have one
/// of them have this. Fires at most once; what fires while the call ends finds it ended.
/// </summary>
internal sealed class CallGuards
{
    private readonly ClientCall _call;
    private CallDeadline? _deadline;
    private CancellationTokenRegistration _cancellation;

    public CallGuards(ClientCall call) => _call = call;

    /// <summary>What is left until the deadline; null without one.</summary>
    public TimeSpan? Remaining => _deadline?.Remaining;

    /// <summary>Arms both. The call may end before this returns.</summary>
    public void Arm(TimeSpan? timeout, CancellationToken cancellationToken)
    {
        _deadline = timeout is { } time ? new CallDeadline(time, _call.OnDeadline) : null;
        _cancellation = cancellationToken.UnsafeRegister(
            static call => ((ClientCall)call!).Finish(StatusMapping.ClientCancelled, isCancel: true), _call);
    }

    /// <summary>The call has ended.</summary>
    public void Release()
    {
        _deadline?.Dispose();
        _cancellation.Unregister();
    }
}
