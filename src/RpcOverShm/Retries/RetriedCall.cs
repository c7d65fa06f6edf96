using Grpc.Core;
using RpcOverShm.Calls;
using RpcOverShm.Clients;

namespace RpcOverShm.Retries;

/// <summary>
/// One call of a method with a retry policy: attempts, one after the other, until one is answered by a method, ends in
/// a way that is final, or no further one is allowed. That attempt is the call from then on (gRFC A6: it is committed).
/// Where the call stands is in its <see cref="AttemptState{TResponse}"/>. Any thread may use it.
/// </summary>
internal sealed class RetriedCall<TResponse>
    where TResponse : class
{
    private readonly RetrySettings _settings;
    private readonly RetryPolicy _policy;
    private readonly CallOptions _options;
    private readonly RetryDeadline? _expiry;
    private readonly RetryBuffer _requests;
    private readonly AttemptFactory<TResponse> _begin;
    private readonly AttemptState<TResponse> _state;
    private volatile bool _areHeadersRequested;
    private volatile bool _isDisposed;

    /// <param name="settings">The channel's.</param>
    /// <param name="policy">The method's.</param>
    /// <param name="options">The caller's.</param>
    /// <param name="requests">The requests, where they are a stream or may be sent again.</param>
    /// <param name="begin">Makes an attempt.</param>
    /// <param name="end">How the call has ended already; null for a call that is to be made.</param>
    public RetriedCall(
        RetrySettings settings,
        RetryPolicy policy,
        in CallOptions options,
        RetryBuffer requests,
        AttemptFactory<TResponse> begin,
        CallOutcome? end)
    {
        _settings = settings;
        _policy = policy;
        _requests = requests;
        _begin = begin;
        _state = new AttemptState<TResponse>(policy, requests, begin);

        // The caller's metadata is the caller's again when this returns; later attempts want what it was.
        _options = options.Headers is { Count: > 0 } headers ? options.WithHeaders([.. headers]) : options;
        try
        {
            _expiry = CallTimeout.Of(options) is { } timeout ? new RetryDeadline(timeout, TimeProvider.System) : null;
            if (end is not null)
            {
                _state.GiveUp(end);
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

    /// <summary>Of a call with one response.</summary>
    public Task<TResponse> ResponseAsync { get; }

    public Status Status => _state.Committed?.Call.Status
        ?? throw new InvalidOperationException("Unable to get the status because the call is not complete.");

    public Metadata Trailers => _state.Committed?.Call.Trailers
        ?? throw new InvalidOperationException(
            "Can't get the call trailers because the call has not completed successfully.");

    /// <summary>True when its user has disposed the call, whether it had ended before or not.</summary>
    public bool IsDisposed => _isDisposed;

    /// <summary>The attempt that has become the call.</summary>
    public Task<Attempt<TResponse>> WhenCommittedAsync() => _state.WhenCommittedAsync();

    public Task<Metadata> GetHeadersAsync() => TakeHeadersAsync().Observed();

    /// <summary>Writes a request. Completes when an attempt has taken it, or fails with the call.</summary>
    public Task WriteAsync(SerializedMessage message, WriteOptions? options)
    {
        Task written = _requests.WriteAsync(message, options);
        CommitIfOverflowing();
        return written;
    }

    /// <summary>No more requests follow.</summary>
    public void CompleteRequests() => _requests.Complete();

    public void Dispose()
    {
        _isDisposed = true;
        _state.GiveUp(CallOutcome.Disposed);
    }

    /// <summary>A token of the user was cancelled, and with it the call.</summary>
    public void Cancel(CancellationToken by) => _state.GiveUp(CallOutcome.Local(StatusMapping.ClientCancelled, by));

    /// <summary>Ends the call because of a request that can't be sent; returns what to throw.</summary>
    public RpcException Fail(in Status status)
    {
        _state.GiveUp(CallOutcome.Local(status));
        return new RpcException(status);
    }

    private async Task<TResponse> TakeResponseAsync()
    {
        Attempt<TResponse> attempt = await WhenCommittedAsync().ConfigureAwait(false);
        return attempt.Response is null ? null! : await attempt.Response.ConfigureAwait(false);
    }

    private async Task<Metadata> TakeHeadersAsync()
    {
        // In this order: an attempt that begins later finds the flag.
        _areHeadersRequested = true;
        if (_state.InFlight is { } current)
        {
            _ = WatchHeadersAsync(current);
        }

        Attempt<TResponse> attempt = await WhenCommittedAsync().ConfigureAwait(false);
        return await attempt.Call.GetHeadersAsync().ConfigureAwait(false);
    }

    // Of a call with one response nothing else says that it was answered before that has come.
    private async Task WatchHeadersAsync(Attempt<TResponse> attempt)
    {
        await ((Task)attempt.Call.GetHeadersAsync()).ConfigureAwait(ConfigureAwaitOptions.SuppressThrowing);
        if (attempt.Call.IsAnswered)
        {
            _state.Commit(attempt);
        }
    }

    private async Task RunAsync(Attempt<TResponse> first)
    {
        Attempt<TResponse>? attempt = first;
        for (int attempts = 1; attempt is not null; attempts++)
        {
            await attempt.SettleAsync().ConfigureAwait(false);
            if (GetBackoff(attempt, attempts) is not { } pause || !_state.TryPause(attempt))
            {
                _state.Commit(attempt);
                await RecordSuccessAsync(attempt).ConfigureAwait(false);
                return;
            }

            // Nobody reads a stream that has failed to its end, but its timer and its place at a token are to go.
            attempt.Call.Finish(attempt.Call.WaitForEnd()!, isCancel: false);
            await PauseAsync(pause).ConfigureAwait(false);
            attempt = BeginNext(attempts);
        }
    }

    /// <summary>Null when the attempt is the last one, however it has ended.</summary>
    private TimeSpan? GetBackoff(Attempt<TResponse> attempt, int attempts)
    {
        bool isGivenUp = _state.IsGivenUp || _options.CancellationToken.IsCancellationRequested
            || _expiry?.Remaining <= TimeSpan.Zero;
        return isGivenUp || attempt.Call.WaitForEnd() is not { IsOk: false } failure
            ? null
            : RetryDecision.GetBackoff(_policy, _settings.Throttle, failure, attempts);
    }

    // Ends early when the call is given up: by its user, because its time is up, or with its channel.
    private async Task PauseAsync(TimeSpan pause)
    {
        using CancellationTokenRegistration cancellation = _options.CancellationToken.UnsafeRegister(
            static (call, by) => ((RetriedCall<TResponse>)call!).Cancel(by), this);
        using CancellationTokenRegistration shutdown = _settings.ChannelShutdown.UnsafeRegister(
            static state => ((AttemptState<TResponse>)state!).GiveUp(CallOutcome.Local(StatusMapping.Disposed)),
            _state);
        using CallDeadline? deadline = _expiry is null ? null : new CallDeadline(
            _expiry.Remaining, () => _state.GiveUp(CallOutcome.Local(StatusMapping.ClientDeadline)));
        await ((Task)WhenCommittedAsync()).WaitAsync(pause).ConfigureAwait(ConfigureAwaitOptions.SuppressThrowing);
    }

    /// <summary>Null when the call was given up in the pause.</summary>
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
            // The channel was shut down in the pause, or what the call is made from can't be used any more.
            _state.GiveUp(CallOutcome.Local(StatusMapping.FromStartFailure(exception)));
            return null;
        }
    }

    // Not under a lock: user code runs in here.
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
            // What a write of the attempt says when its user has disposed it is nothing to those who have waited.
            _requests.End(attempt.Call.IsOver ? attempt.Call.ToException() : failure);
        }
    }

    private CallOptions OptionsOf(int attempts)
    {
        CallOptions options = _options.WithHeaders(
            [.. _options.Headers ?? [], new Metadata.Entry(PreviousAttemptsHeader.Key, $"{attempts}")]);
        return _expiry is null ? options : options.WithDeadline(_expiry.Deadline);
    }

    private void CommitIfOverflowing()
    {
        if (_requests.IsOverflowing && _state.InFlight is { } attempt)
        {
            _state.Commit(attempt);
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

/// <summary>
/// What gRPC's call objects ask of a call, as delegates that are made once and take the call as their state.
/// </summary>
internal static class RetriedAccess<TResponse>
    where TResponse : class
{
    public static readonly Func<object, Task<Metadata>> GetHeaders = static call => Of(call).GetHeadersAsync();

    public static readonly Func<object, Status> GetStatus = static call => Of(call).Status;

    public static readonly Func<object, Metadata> GetTrailers = static call => Of(call).Trailers;

    public static readonly Action<object> Dispose = static call => Of(call).Dispose();

    private static RetriedCall<TResponse> Of(object call) => (RetriedCall<TResponse>)call;
}

/// <summary>A method's policy, and the method with requests that are serialised already.</summary>
/// <param name="Policy">Null where failures are final.</param>
/// <param name="Raw">What attempts call.</param>
internal sealed record RetriedMethod<TResponse>(RetryPolicy? Policy, Method<SerializedMessage, TResponse> Raw)
    where TResponse : class
{
    public static RetriedMethod<TResponse> Of<TRequest>(Method<TRequest, TResponse> method, RetryPolicy? policy) =>
        new(policy, new Method<SerializedMessage, TResponse>(
            method.Type, method.ServiceName, method.Name, SerializedMessage.Marshaller, method.ResponseMarshaller));
}
