using Grpc.Core;
using RpcOverShm.Calls;
using RpcOverShm.Clients;
using RpcOverShm.Scheduling;

namespace RpcOverShm.Retries;

/// <summary>
/// A call of a method with a retry policy. Makes one attempt after another until a method answers one, one fails for
/// good, or no further one is allowed. That attempt is committed (gRFC A6) and is the call from then on.
/// <see cref="AttemptState{TResponse}"/> holds the state. Thread-safe.
/// </summary>
internal sealed class RetriedCall<TResponse> : IPresentedCall
    where TResponse : class
{
    private readonly RetrySettings _settings;
    private readonly RetryPolicy _policy;
    private readonly CallOptions _options;
    private readonly RetryDeadline? _expiry;
    private readonly RetryBuffer _requests;
    private readonly AttemptFactory<TResponse> _begin;
    private readonly AttemptState<TResponse> _state;
    private readonly CallObservation? _observation; // of all attempts; null if nobody listens
    private Exception? _lastFailure; // of the attempt before the pause
    private volatile bool _areHeadersRequested;
    private volatile bool _isDisposed;

    /// <summary>Makes the first attempt, or one that has ended if the call has an outcome already.</summary>
    public RetriedCall(
        RetrySettings settings,
        RetryPolicy policy,
        ResponseMethod<TResponse> method,
        in CallOptions options,
        RetryBuffer requests,
        AttemptFactory<TResponse> begin,
        CallOutcome? end,
        CallObservation? observation)
    {
        _settings = settings;
        _policy = policy;
        _requests = requests;
        _begin = begin;
        _observation = observation;
        _state = new AttemptState<TResponse>(method, policy, requests, begin);

        // The caller may change its metadata after this returns, and later attempts need the original.
        _options = options.Headers is { Count: > 0 } headers ? options.WithHeaders([.. headers]) : options;
        try
        {
            _expiry = CallCancellation.TimeoutOf(options, method.Timeout) is { } timeout
                ? new RetryDeadline(timeout, TimeProvider.System)
                : null;
            if (end is not null)
            {
                _state.GiveUp(CommitReason.NotSent, end);
            }
            else
            {
                _ = RunAsync(Begin(_options)!);
            }
        }
        catch
        {
            requests.MarkFinal();
            throw;
        }

        ResponseAsync = TakeResponseAsync().Observed();
    }

    /// <summary>The response of a call with a single response; completes with null for a response stream.</summary>
    public Task<TResponse> ResponseAsync { get; }

    public Status Status => _state.Committed?.Call.Status
        ?? throw new InvalidOperationException("Unable to get the status because the call is not complete.");

    public Metadata Trailers => _state.Committed?.Call.Trailers
        ?? throw new InvalidOperationException(
            "Can't get the call trailers because the call has not completed successfully.");

    public bool IsDisposed => _isDisposed;

    /// <summary>Returns the committed attempt, once there is one.</summary>
    public Task<Attempt<TResponse>> WhenCommittedAsync() => _state.WhenCommittedAsync();

    public Task<Metadata> GetHeadersAsync() => TakeHeadersAsync().Observed();

    public Exception ToException() => _state.Committed!.Call.ToException();

    /// <summary>Writes a request; see <see cref="RetryBuffer.WriteAsync"/>.</summary>
    public Task<bool> WriteAsync(SerializedMessage message, WriteOptions? options)
    {
        Task<bool> written = _requests.WriteAsync(message, options);
        CommitIfOverflowing();
        return written;
    }

    /// <summary>Half-closes the call.</summary>
    public void CompleteRequests() => _requests.Complete();

    public void Dispose()
    {
        _isDisposed = true;
        _state.GiveUp(CommitReason.Cancelled, CallOutcome.Disposed);
        _observation?.End(Status.StatusCode, Status.Detail);
    }

    public void Cancel(CancellationToken by) =>
        _state.GiveUp(CommitReason.Cancelled, CallOutcome.Local(StatusMapping.ClientCancelled, by));

    /// <summary>Ends the call because a request can't be sent. Returns the exception for the caller to throw.</summary>
    public RpcException Fail(in Status status)
    {
        _state.GiveUp(CommitReason.NotSent, CallOutcome.Local(status));
        return new RpcException(status);
    }

    /// <summary>
    /// Returns the committed attempt, with the observation of the call, which so ends before a reader sees the end.
    /// </summary>
    public async Task<Attempt<TResponse>> WhenObservedAsync()
    {
        Attempt<TResponse> attempt = await WhenCommittedAsync().ConfigureAwait(false);
        attempt.Call.Observe(_observation);
        return attempt;
    }

    private async Task<TResponse> TakeResponseAsync()
    {
        Attempt<TResponse> attempt = await WhenObservedAsync().ConfigureAwait(false);
        return attempt.Response is null ? null! : await attempt.Response.ConfigureAwait(false);
    }

    private async Task<Metadata> TakeHeadersAsync()
    {
        // The flag is set before InFlight is read, so that an attempt that begins later finds it.
        _areHeadersRequested = true;
        if (_state.InFlight is { } current)
        {
            _ = WatchHeadersAsync(current);
        }

        Attempt<TResponse> attempt = await WhenObservedAsync().ConfigureAwait(false);
        Metadata headers = await attempt.Call.GetHeadersAsync().ConfigureAwait(false);
        return _state.Attempts > 1 ? PreviousAttemptsHeader.AddTo(headers, _state.Attempts - 1) : headers;
    }

    // RunAsync awaits a single response, if the call has one; only the headers show an earlier answer.
    private async Task WatchHeadersAsync(Attempt<TResponse> attempt)
    {
        await ((Task)attempt.Call.GetHeadersAsync()).ConfigureAwait(ConfigureAwaitOptions.SuppressThrowing);
        if (attempt.Call.HasResponse)
        {
            _state.Commit(attempt, CommitReason.Answered);
        }
    }

    private async Task RunAsync(Attempt<TResponse> first)
    {
        Attempt<TResponse>? attempt = first;
        for (int attempts = 1; attempt is not null; attempts++)
        {
            await attempt.SettleAsync().ConfigureAwait(false);
            TimeSpan? pause = GetBackoff(attempt, attempts, out CommitReason reason);
            if (reason == CommitReason.DeadlineExceeded)
            {
                // The timer comes a little later. The call has ended by its deadline, not by this failure.
                GiveUpAtDeadline();
                return;
            }

            if (pause is null || !_state.TryPause(attempt))
            {
                _state.Commit(attempt, pause is null ? reason : CommitReason.BufferFull);
                await RecordSuccessAsync(attempt).ConfigureAwait(false);
                return;
            }

            // Nobody reads a failed stream to its end. Finishing the call releases its timer and token registration.
            attempt.Call.Finish(attempt.Call.SpinUntilOutcome()!, isCancel: false);
            _lastFailure = attempt.Call.ToException();
            await PauseAsync(pause.Value).ConfigureAwait(false);
            attempt = BeginNext(attempts);
        }
    }

    /// <summary>Returns the back-off before the next attempt; null, and a reason, if this one is the last.</summary>
    private TimeSpan? GetBackoff(Attempt<TResponse> attempt, int attempts, out CommitReason reason)
    {
        reason = CommitReason.Answered;
        if (attempt.Call.SpinUntilOutcome() is not { IsOk: false } failure)
        {
            return null;
        }

        reason = _expiry?.Remaining <= TimeSpan.Zero ? CommitReason.DeadlineExceeded : CommitReason.Cancelled;
        return reason == CommitReason.DeadlineExceeded || _state.IsGivenUp
            || _options.CancellationToken.IsCancellationRequested
                ? null
                : _policy.GetBackoff(_settings.Throttle, failure, attempts, out reason);
    }

    // Ends early if the call is given up: by a token of the caller, its deadline, Dispose or the channel's shutdown.
    private async Task PauseAsync(TimeSpan pause)
    {
        using CancellationTokenRegistration cancellation = _options.CancellationToken.UnsafeRegister(
            CallPresentation.Cancel, this);
        using CancellationTokenRegistration shutdown = _settings.ChannelShutdown.UnsafeRegister(
            static state => ((AttemptState<TResponse>)state!).GiveUp(
                CommitReason.Cancelled, CallOutcome.Local(StatusMapping.Disposed)),
            _state);
        using DueTime? deadline = _expiry is null ? null : new DueTime(_expiry.Remaining, GiveUpAtDeadline);
        await ((Task)WhenCommittedAsync()).WaitAsync(pause).ConfigureAwait(ConfigureAwaitOptions.SuppressThrowing);
    }

    private void GiveUpAtDeadline() => _state.GiveUp(
        CommitReason.DeadlineExceeded, CallOutcome.Local(StatusMapping.ClientDeadlineAfter(_lastFailure)));

    /// <summary>Begins the next attempt. Returns null if the call was given up during the back-off.</summary>
    private Attempt<TResponse>? BeginNext(int attempts)
    {
        if (_state.Committed is not null)
        {
            return null;
        }

        try
        {
            return Begin(OptionsOf(attempts));
        }
        catch (Exception exception)
        {
            // The channel was shut down during the back-off, or an input of the call is unusable by now.
            _state.GiveUp(CommitReason.NotSent, CallOutcome.Local(StatusMapping.FromStartFailure(exception)));
            return null;
        }
    }

    // Runs user code, so the caller must hold no lock.
    private Attempt<TResponse>? Begin(in CallOptions options)
    {
        Attempt<TResponse> attempt = _begin(options, end: null);
        if (!_state.TryBegin(attempt))
        {
            attempt.Call.Dispose();
            return null;
        }

        CommitIfOverflowing();
        if (attempt.Requests is not null)
        {
            _ = SendRequestsAsync(attempt, attempt.Requests);
        }

        if (attempt.IsAnsweredByHeaders || _areHeadersRequested)
        {
            _ = WatchHeadersAsync(attempt);
        }

        return attempt;
    }

    private async Task SendRequestsAsync(Attempt<TResponse> attempt, IClientStreamWriter<SerializedMessage> to)
    {
        Exception? failure = await _requests.SendAsync(to).ConfigureAwait(false);
        if (failure is not null && ReferenceEquals(await WhenCommittedAsync().ConfigureAwait(false), attempt))
        {
            // Pending writes must fail with the call's outcome, not with the ObjectDisposedException that a write on
            // a disposed attempt throws.
            _requests.End(attempt.Call.HasEnd ? attempt.Call.ToException() : failure);
        }
    }

    private CallOptions OptionsOf(int attempts)
    {
        CallOptions options = _options.WithHeaders(PreviousAttemptsHeader.AddTo(_options.Headers, attempts));
        return _expiry is null ? options : options.WithDeadline(_expiry.Deadline);
    }

    private void CommitIfOverflowing()
    {
        if (_requests.IsOverflowing && _state.InFlight is { } attempt)
        {
            _state.Commit(attempt, CommitReason.BufferFull);
        }
    }

    private async Task RecordSuccessAsync(Attempt<TResponse> attempt)
    {
        if (_settings.Throttle is { } throttle)
        {
            await attempt.EndAsync().ConfigureAwait(false);
            if (attempt.Call.Status.StatusCode == StatusCode.OK)
            {
                throttle.RecordSuccess();
            }
        }
    }
}
