using RpcOverShm.Clients;

namespace RpcOverShm.Retries;

/// <summary>
/// Where a call with several attempts stands. At any moment one attempt is in flight, or none is, in a pause; in the
/// end one is committed, which is the call from then on. Who gives the call up commits what is in flight, and in a
/// pause an attempt that is made as it has ended: so a call has one outcome, that of one attempt. Every step is taken
/// under one lock, and with it what becomes of the requests. Any thread may use it; no user code runs in here.
/// </summary>
/// <param name="policy">The method's.</param>
/// <param name="requests">Kept while another attempt may follow.</param>
/// <param name="begin">Makes the attempt of a call that is given up in a pause.</param>
internal sealed class AttemptState<TResponse>(
    RetryPolicy policy, RetryBuffer requests, AttemptFactory<TResponse> begin)
    where TResponse : class
{
    private readonly Lock _gate = new();
    private readonly TaskCompletionSource<Attempt<TResponse>> _whenCommitted =
        new(TaskCreationOptions.RunContinuationsAsynchronously);

    private Attempt<TResponse>? _inFlight; // null in a pause, and for good when one is committed
    private Attempt<TResponse>? _committed;
    private volatile bool _isGivenUp;

    /// <summary>The attempt that has become the call; null before.</summary>
    public Attempt<TResponse>? Committed => Volatile.Read(ref _committed);

    /// <summary>True when its user has ended the call, or its time or the channel's, if it had not ended.</summary>
    public bool IsGivenUp => _isGivenUp;

    /// <summary>The attempt that is under way; null in a pause, and when one is committed.</summary>
    public Attempt<TResponse>? InFlight
    {
        get
        {
            lock (_gate)
            {
                return _inFlight;
            }
        }
    }

    /// <summary>The attempt that has become the call.</summary>
    public Task<Attempt<TResponse>> WhenCommittedAsync() => _whenCommitted.Task;

    /// <summary>
    /// An attempt is under way now. False when the call was given up while it was made: then nobody wants it.
    /// </summary>
    public bool TryBegin(Attempt<TResponse> attempt)
    {
        lock (_gate)
        {
            if (_committed is not null)
            {
                return false;
            }

            _inFlight = attempt;
            return true;
        }
    }

    /// <summary>
    /// The attempt under way has failed, and another is to follow. False when none can: it is committed, or the
    /// requests are not all there any more.
    /// </summary>
    public bool TryPause(Attempt<TResponse> attempt)
    {
        lock (_gate)
        {
            if (_inFlight != attempt || !requests.TryRestart())
            {
                return false;
            }

            _inFlight = null;
            return true;
        }
    }

    /// <summary>No other attempt follows this one, if it is the one that is under way.</summary>
    public void Commit(Attempt<TResponse> attempt)
    {
        lock (_gate)
        {
            if (_inFlight == attempt)
            {
                Settle(attempt);
            }
        }
    }

    /// <summary>Ends the call from this side, unless it has ended.</summary>
    public void GiveUp(CallOutcome end)
    {
        Attempt<TResponse> attempt;
        lock (_gate)
        {
            _isGivenUp = true;
            if (_committed is null)
            {
                Settle(_inFlight is not null && IsEndedBy(end, _inFlight) ? _inFlight : MakeEnded(end));
            }

            attempt = _committed!;
        }

        attempt.Call.Finish(end, isCancel: true);
    }

    // Where it had ended before, that stays as it is; but a failure that is tried again was not the last word.
    private bool IsEndedBy(CallOutcome end, Attempt<TResponse> attempt) =>
        attempt.Call.Finish(end, isCancel: true)
        || attempt.Call.IsAnswered
        || !policy.IsRetryable(attempt.Call.Status);

    // It is never sent: nothing but its objects is made.
    private Attempt<TResponse> MakeEnded(CallOutcome end)
    {
        Attempt<TResponse> attempt = begin(default, end);
        requests.End(attempt.Call.ToException());
        return attempt;
    }

    // Under the gate.
    private void Settle(Attempt<TResponse> attempt)
    {
        _inFlight = null;
        Volatile.Write(ref _committed, attempt);
        requests.MarkFinal();
        _whenCommitted.SetResult(attempt);
    }
}
