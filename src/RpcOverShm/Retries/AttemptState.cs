using RpcOverShm.Clients;
using RpcOverShm.Diagnostics;

namespace RpcOverShm.Retries;

/// <summary>
/// The state of a retried call. One attempt is in flight, or none during back-off; finally one attempt is committed and
/// is the call from then on. Giving up the call commits the attempt in flight, or, during back-off, a new attempt that
/// has already ended. So a call has exactly one outcome, that of one attempt. One lock covers each transition together
/// with its effect on the retry buffer. Thread-safe; no user code runs under the lock.
/// </summary>
internal sealed class AttemptState<TResponse>(
    ResponseMethod<TResponse> method, RetryPolicy policy, RetryBuffer requests, AttemptFactory<TResponse> begin)
    where TResponse : class
{
    private readonly UninterruptibleLock _lock = new();
    private readonly TaskCompletionSource<Attempt<TResponse>> _whenCommitted =
        new(TaskCreationOptions.RunContinuationsAsynchronously);

    private Attempt<TResponse>? _inFlight; // null during back-off and after the commit
    private Attempt<TResponse>? _committed;
    private int _attempts;
    private volatile bool _isGivenUp;

    /// <summary>The committed attempt; null before the commit.</summary>
    public Attempt<TResponse>? Committed => Volatile.Read(ref _committed);

    /// <summary>The number of attempts; final after the commit.</summary>
    public int Attempts => Volatile.Read(ref _attempts);

    /// <summary>Whether the caller, the deadline or the channel's shutdown has given up the call.</summary>
    public bool IsGivenUp => _isGivenUp;

    /// <summary>The attempt in flight; null during back-off and after the commit.</summary>
    public Attempt<TResponse>? InFlight
    {
        get
        {
            using (_lock.Enter())
            {
                return _inFlight;
            }
        }
    }

    /// <summary>Returns the committed attempt, once there is one.</summary>
    public Task<Attempt<TResponse>> WhenCommittedAsync() => _whenCommitted.Task;

    /// <summary>
    /// Puts an attempt in flight. Returns false if the call was given up meanwhile: the caller must then dispose the
    /// attempt.
    /// </summary>
    public bool TryBegin(Attempt<TResponse> attempt)
    {
        using (_lock.Enter())
        {
            if (_committed is not null)
            {
                return false;
            }

            _inFlight = attempt;
            _attempts++;
            return true;
        }
    }

    /// <summary>
    /// Takes a failed attempt out of flight, so that another one can follow. Returns false if none can: the attempt is
    /// committed, or the requests exceed the budget.
    /// </summary>
    public bool TryPause(Attempt<TResponse> attempt)
    {
        using (_lock.Enter())
        {
            if (_inFlight != attempt || !requests.TryRestart())
            {
                return false;
            }

            _inFlight = null;
            return true;
        }
    }

    /// <summary>Commits an attempt if it is the one in flight.</summary>
    public void Commit(Attempt<TResponse> attempt, CommitReason reason)
    {
        using (_lock.Enter())
        {
            if (_inFlight != attempt)
            {
                return;
            }

            Settle(attempt);
        }

        Log(reason);
    }

    /// <summary>Ends the call from this side, unless it has ended. Commits an attempt in any case.</summary>
    public void GiveUp(CommitReason reason, CallOutcome end)
    {
        Attempt<TResponse> attempt;
        bool isCommit;
        using (_lock.Enter())
        {
            _isGivenUp = true;
            isCommit = _committed is null;
            if (isCommit)
            {
                Settle(_inFlight is not null && IsEndedBy(end, _inFlight) ? _inFlight : MakeEnded(end));
            }

            attempt = _committed!;
        }

        attempt.Call.Finish(end, isCancel: true);
        if (isCommit)
        {
            Log(reason);
        }
    }

    // A logger is user code, which may block.
    private void Log(CommitReason reason) => DeferredLog.Write(
        method.Settings.Logger, log => ShmLog.CallCommitted(log, method.Name, _attempts, reason.ToString()));

    // Whether the attempt in flight supplies the call's outcome. An attempt that ended earlier keeps its own outcome,
    // unless that is a retryable failure: then the call had not ended.
    private bool IsEndedBy(CallOutcome end, Attempt<TResponse> attempt) =>
        attempt.Call.Finish(end, isCancel: true)
        || attempt.Call.HasResponse
        || !policy.IsRetryable(attempt.Call.Status);

    // Makes an attempt that has ended. Nothing is sent.
    private Attempt<TResponse> MakeEnded(CallOutcome end)
    {
        Attempt<TResponse> attempt = begin(default, end);
        requests.End(attempt.Call.ToException());
        return attempt;
    }

    // Under the lock.
    private void Settle(Attempt<TResponse> attempt)
    {
        _inFlight = null;
        Volatile.Write(ref _committed, attempt);
        requests.MarkFinal();
        _whenCommitted.SetResult(attempt);
    }
}
