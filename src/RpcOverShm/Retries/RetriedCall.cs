using System.Globalization;
using Grpc.Core;
using RpcOverShm.Calls;
using RpcOverShm.Clients;

namespace RpcOverShm.Retries;

/// <summary>
/// One call of a method with a retry policy: attempts, one after the other, until one is answered by a method, ends in
/// a way that is final, or no further one is allowed. That attempt is the call from then on (gRFC A6: it is committed).
/// Any thread may use it.
/// </summary>
internal sealed class RetriedCall<TResponse>
    where TResponse : class
{
    private const string PreviousAttemptsKey = "grpc-previous-rpc-attempts";

    private static readonly TimeSpan s_clockStep = TimeSpan.FromMilliseconds(1);

    private readonly RetrySettings _settings;
    private readonly RetryPolicy _policy;
    private readonly CallOptions _options;
    private readonly AttemptFactory<TResponse> _begin;
    private readonly Lock _gate = new();
    private readonly TaskCompletionSource _givenUp = new(TaskCreationOptions.RunContinuationsAsynchronously);
    private readonly TaskCompletionSource<Attempt<TResponse>> _committed =
        new(TaskCreationOptions.RunContinuationsAsynchronously);

    private Attempt<TResponse>? _current;
    private CallEnd? _end; // how the user has given the call up, between attempts or in one
    private volatile bool _areHeadersWanted;

    /// <param name="settings">The channel's.</param>
    /// <param name="policy">The method's.</param>
    /// <param name="options">The caller's.</param>
    /// <param name="log">The requests, where they are a stream or may be sent again.</param>
    /// <param name="begin">Makes an attempt.</param>
    /// <param name="end">How the call has ended already; null for a call that is to be made.</param>
    public RetriedCall(
        RetrySettings settings,
        RetryPolicy policy,
        in CallOptions options,
        RequestLog log,
        AttemptFactory<TResponse> begin,
        CallEnd? end)
    {
        _settings = settings;
        _policy = policy;
        _options = options;
        _begin = begin;
        Requests = log;
        _end = end;
        try
        {
            Begin(attempts: 0);
        }
        catch
        {
            log.NoteFinal();
            throw;
        }

        _ = RunAsync();
        ResponseAsync = Observed(TakeResponseAsync());
    }

    public RequestLog Requests { get; }

    /// <summary>Of a call with one response.</summary>
    public Task<TResponse> ResponseAsync { get; }

    public Status Status => Committed?.Call.Status
        ?? Volatile.Read(ref _end)?.Status
        ?? throw new InvalidOperationException("Unable to get the status because the call is not complete.");

    public Metadata Trailers => Committed?.Call.Trailers
        ?? throw new InvalidOperationException(
            "Can't get the call trailers because the call has not completed successfully.");

    private Attempt<TResponse>? Committed =>
        _committed.Task.IsCompletedSuccessfully ? _committed.Task.Result : null;

    /// <summary>True when the user has disposed the call before it had ended.</summary>
    public bool IsDisposed => ReferenceEquals(Volatile.Read(ref _end)?.Status.Detail, StatusMapping.DisposedDetail);

    /// <summary>The attempt that has become the call.</summary>
    public Task<Attempt<TResponse>> WhenCommittedAsync() => _committed.Task;

    public Task<Metadata> GetHeadersAsync() => Observed(TakeHeadersAsync());

    public void Dispose() => GiveUp(CallEnd.Local(StatusMapping.Disposed));

    /// <summary>A token of the user was cancelled, and with it the call.</summary>
    public void Cancel(CancellationToken by) => GiveUp(CallEnd.Local(StatusMapping.ClientCancelled, by));

    /// <summary>Ends the call because of a request that can't be sent; returns what to throw.</summary>
    public RpcException Fail(in Status status)
    {
        GiveUp(CallEnd.Local(status));
        return new RpcException(status);
    }

    private static Task<T> Observed<T>(Task<T> task)
    {
        // Whoever never looks is not to be punished with an unobserved exception.
        _ = task.ContinueWith(
            static failed => _ = failed.Exception,
            CancellationToken.None,
            TaskContinuationOptions.OnlyOnFaulted | TaskContinuationOptions.ExecuteSynchronously,
            TaskScheduler.Default);
        return task;
    }

    private async Task<TResponse> TakeResponseAsync()
    {
        Attempt<TResponse> attempt = await _committed.Task.ConfigureAwait(false);
        return attempt.Response is null ? null! : await attempt.Response.ConfigureAwait(false);
    }

    private async Task<Metadata> TakeHeadersAsync()
    {
        Attempt<TResponse> current;
        lock (_gate)
        {
            _areHeadersWanted = true;
            current = _current!;
        }

        _ = WatchHeadersAsync(current);
        Attempt<TResponse> attempt = await _committed.Task.ConfigureAwait(false);
        return await attempt.Call.GetHeadersAsync().ConfigureAwait(false);
    }

    // Of a call with one response nothing else says that it was answered before that has come.
    private async Task WatchHeadersAsync(Attempt<TResponse> attempt)
    {
        await ((Task)attempt.Call.GetHeadersAsync()).ConfigureAwait(ConfigureAwaitOptions.SuppressThrowing);
        if (attempt.Call.IsAnswered)
        {
            Commit(attempt);
        }
    }

    private async Task RunAsync()
    {
        for (int attempts = 1; ; attempts++)
        {
            Attempt<TResponse> attempt = _current!;
            await attempt.SettleAsync().ConfigureAwait(false);
            if (PauseAfter(attempt, attempts) is not { } pause)
            {
                Commit(attempt);
                return;
            }

            await PauseAsync(pause).ConfigureAwait(false);
            try
            {
                Begin(attempts);
            }
            catch (Exception exception)
            {
                // The channel was shut down in the pause, or what the call is made from can't be used any more.
                GiveUp(CallEnd.Local(StatusMapping.FromStartFailure(exception)));
                Begin(attempts);
            }
        }
    }

    /// <summary>Null when the attempt is the last one, however it has ended.</summary>
    private TimeSpan? PauseAfter(Attempt<TResponse> attempt, int attempts)
    {
        if (attempt.Call.IsAnswered || attempt.Call.WaitForEnd() is not { IsOk: false } end)
        {
            NoteSuccess(attempt);
            return null;
        }

        bool isGivenUp = Volatile.Read(ref _end) is not null || _options.CancellationToken.IsCancellationRequested
            || TimeLeft <= TimeSpan.Zero;
        string? pushback = end.KnownTrailers?.GetValue(RetryPolicy.PushbackKey);
        bool isRefused = pushback is not null && !IsDelay(pushback);
        if (isGivenUp || (!_policy.Codes.Contains(end.Status.StatusCode) && !isRefused))
        {
            return null;
        }

        bool mayGoOn = _settings.Throttle?.NoteFailure() ?? true;
        if (!mayGoOn || isRefused || attempts >= _policy.MaxAttempts || Requests.IsOverflowing)
        {
            return null;
        }

        return pushback is null
            ? _policy.PauseAfter(attempts, Random.Shared.NextDouble())
            : TimeSpan.FromMilliseconds(int.Parse(pushback, CultureInfo.InvariantCulture));
    }

    private static bool IsDelay(string pushback) =>
        int.TryParse(pushback, NumberStyles.None, CultureInfo.InvariantCulture, out _);

    private TimeSpan TimeLeft => _options.Deadline is { } deadline && deadline != DateTime.MaxValue
        ? deadline - TimeProvider.System.GetUtcNow().UtcDateTime
        : TimeSpan.MaxValue;

    // Ends early when the call is given up, or its time is up: the next attempt then says so.
    private async Task PauseAsync(TimeSpan pause)
    {
        using var end = CancellationTokenSource.CreateLinkedTokenSource(
            _options.CancellationToken, _settings.ChannelShutdown);
        if (pause < TimeLeft)
        {
            await WaitAsync(pause, end.Token).ConfigureAwait(false);
        }
        else
        {
            // Timers may be early, and what begins a moment before the deadline still reaches the server.
            while (TimeLeft > TimeSpan.Zero && !end.IsCancellationRequested && !_givenUp.Task.IsCompleted)
            {
                await WaitAsync(TimeLeft + s_clockStep, end.Token).ConfigureAwait(false);
            }
        }

        await end.CancelAsync().ConfigureAwait(false);
    }

    private Task WaitAsync(TimeSpan time, CancellationToken end) =>
        time > TimeSpan.Zero ? Task.WhenAny(Task.Delay(time, end), _givenUp.Task) : Task.CompletedTask;

    private void Begin(int attempts)
    {
        // One that was given up is made as it has ended, and never sent. Not under the gate: user code runs in there.
        CallEnd? end = Volatile.Read(ref _end);
        Attempt<TResponse> attempt = _begin(end is null ? OptionsOf(attempts) : default, end);
        lock (_gate)
        {
            _current = attempt;
            end = _end;
        }

        if (end is not null)
        {
            attempt.Call.Finish(end, isCancel: true);
        }

        if (attempt.Requests is not null)
        {
            _ = Requests.SendAsync(attempt.Requests);
        }

        if (_areHeadersWanted)
        {
            _ = WatchHeadersAsync(attempt);
        }
    }

    private CallOptions OptionsOf(int attempts) => attempts == 0
        ? _options
        : _options.WithHeaders(
            [.. _options.Headers ?? [], new Metadata.Entry(PreviousAttemptsKey, $"{attempts}")]);

    private void GiveUp(CallEnd end)
    {
        Attempt<TResponse>? committed = Committed;
        if (committed is not null)
        {
            committed.Call.Finish(end, isCancel: true);
            return;
        }

        Attempt<TResponse> current;
        lock (_gate)
        {
            Volatile.Write(ref _end, _end ?? end);
            current = _current!;
        }

        if (current.Call.Finish(end, isCancel: true))
        {
            Commit(current);
        }

        _givenUp.TrySetResult();
    }

    private void NoteSuccess(Attempt<TResponse> attempt)
    {
        if (attempt.Call.IsFinished && attempt.Call.Status.StatusCode == StatusCode.OK)
        {
            _settings.Throttle?.NoteSuccess();
        }
    }

    private void Commit(Attempt<TResponse> attempt)
    {
        if (_committed.TrySetResult(attempt))
        {
            Requests.NoteFinal();
        }
    }
}
