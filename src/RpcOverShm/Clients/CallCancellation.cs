using RpcOverShm.Calls;

namespace RpcOverShm.Clients;

/// <summary>
/// What can end a call from this side besides its user: the deadline and the caller's token, and who is to hear of the
/// end. Only calls that need one of them have this. Fires at most once; what fires while the call ends finds it ended.
/// </summary>
internal sealed class CallCancellation
{
    private readonly ClientCall _call;
    private CallDeadline? _deadline;
    private CancellationTokenRegistration _cancellation;
    private CancellationTokenSource? _ended; // made for who waits for that

    public CallCancellation(ClientCall call) => _call = call;

    /// <summary>What is left until the deadline; null without one.</summary>
    public TimeSpan? Remaining => _deadline?.Remaining;

    /// <summary>Fires when the call has ended, for what is done on its behalf before it is sent.</summary>
    public CancellationToken Ended
    {
        get
        {
            CancellationTokenSource? ended = Volatile.Read(ref _ended);
            if (ended is null)
            {
                var made = new CancellationTokenSource();
                ended = Interlocked.CompareExchange(ref _ended, made, null) ?? made;
            }

            if (_call.IsFinished)
            {
                Fire(ended);
            }

            return ended.Token;
        }
    }

    /// <summary>Arms both. The call may end before this returns.</summary>
    public void Arm(TimeSpan? timeout, CancellationToken cancellationToken)
    {
        _deadline = timeout is { } time ? new CallDeadline(time, _call.OnDeadline) : null;
        _cancellation = cancellationToken.UnsafeRegister(
            static (call, by) => ((ClientCall)call!).Cancel(by), _call);
    }

    /// <summary>The call has ended.</summary>
    public void Release()
    {
        _deadline?.Dispose();
        _cancellation.Unregister();
        if (Volatile.Read(ref _ended) is { } ended)
        {
            Fire(ended);
        }
    }

    // On the pool: what hangs on it is code of users too, which must not run on the thread that ends the call.
    private static void Fire(CancellationTokenSource ended) => ThreadPool.UnsafeQueueUserWorkItem(
        static source =>
        {
            try
            {
                source.Cancel();
            }
            catch (AggregateException)
            {
                // What a user's callback throws has nobody to go to.
            }
        },
        ended,
        preferLocal: false);
}
