using System.Diagnostics;
using Grpc.Core;

namespace RpcOverShm.Tool.Bench;

/// <summary>
/// Runs the load of a plan, once. In a closed loop each caller makes a call when its last one has ended. In an open
/// loop calls have their times from the beginning, and a latency counts from that time: a server that stalls delays all
/// calls that are due meanwhile, as it would delay those of independent users (no coordinated omission).
/// </summary>
internal sealed class BenchRun(BenchPlan plan, IReadOnlyList<RepeatedCall> connections)
{
    /// <summary>The time after the load in which calls may end by themselves; then they are cancelled.</summary>
    public static readonly TimeSpan Grace = TimeSpan.FromSeconds(5);

    // A timer is late by up to a millisecond or two; the rest of a wait yields the processor again and again.
    private static readonly TimeSpan s_timerError = TimeSpan.FromMilliseconds(2);

    private readonly BenchResult _result = new();
    private CancellationToken _user; // ends the whole
    private CancellationToken _stop; // ends the warm-up or the measured part, also for calls beyond their grace
    private bool _isMeasured;
    private long _begun;
    private long _start;
    private TimeSpan? _length;
    private volatile ShmTransportException? _lost;

    /// <summary>The part of the load that is over, from 0 to 1.</summary>
    public double Progress => Math.Clamp(
        Math.Max(
            _length is { } length && _isMeasured ? Stopwatch.GetElapsedTime(_start) / length : 0,
            plan.Total is { } total && _isMeasured ? (double)Volatile.Read(ref _begun) / total : 0),
        0,
        1);

    /// <summary>The calls that have begun.</summary>
    public long Begun => Volatile.Read(ref _begun);

    /// <summary>Why a call found no connection, which ended the load; null if none did.</summary>
    public ShmTransportException? Lost => _lost;

    /// <summary>Runs the load. A token that is cancelled ends it early, and the result has what came before.</summary>
    public async Task<BenchResult> RunAsync(CancellationToken cancellationToken)
    {
        _user = cancellationToken;
        if (plan.WarmUp > TimeSpan.Zero)
        {
            await RunAsync(plan.WarmUp, isMeasured: false).ConfigureAwait(false);
        }

        await RunAsync(plan.Duration, isMeasured: true).ConfigureAwait(false);
        _result.Elapsed = Stopwatch.GetElapsedTime(_start);
        return _result;
    }

    private async Task RunAsync(TimeSpan? length, bool isMeasured)
    {
        using var stop = CancellationTokenSource.CreateLinkedTokenSource(_user);
        _stop = stop.Token;
        _length = length;
        _isMeasured = isMeasured;
        Volatile.Write(ref _begun, 0);
        _start = Stopwatch.GetTimestamp();
        Task load = plan.Rate is { } rate
            ? CallOnScheduleAsync(rate)
            : Task.WhenAll(Enumerable.Range(0, plan.Callers).Select(
                caller => CallInTurnAsync(connections[caller % connections.Count])));
        if (length is { } limit)
        {
            // Only what runs far beyond its end is cancelled.
            using var end = new CancellationTokenSource(limit + Grace);
            using (end.Token.UnsafeRegister(static one => ((CancellationTokenSource)one!).Cancel(), stop))
            {
                await load.ConfigureAwait(false);
            }
        }
        else
        {
            await load.ConfigureAwait(false);
        }
    }

    private async Task CallInTurnAsync(RepeatedCall call)
    {
        await Task.Yield();
        while (TryBegin())
        {
            await MeasureAsync(call, Stopwatch.GetTimestamp()).ConfigureAwait(false);
        }
    }

    private async Task CallOnScheduleAsync(double rate)
    {
        await Task.Yield();
        using var places = new SemaphoreSlim(plan.Callers);
        long number = 0;
        while (TryBegin())
        {
            TimeSpan due = TimeSpan.FromSeconds(number / rate);
            if (due >= _length || !await TryWaitUntilAsync(due).ConfigureAwait(false))
            {
                break;
            }

            if (!places.Wait(0))
            {
                await places.WaitAsync(CancellationToken.None).ConfigureAwait(false);
            }

            if (IsOver)
            {
                places.Release();
                break;
            }

            RepeatedCall call = connections[(int)(number++ % connections.Count)];
            _ = CallAndLeaveAsync(call, _start + (long)(due.TotalSeconds * Stopwatch.Frequency), places);
        }

        if (_isMeasured && _length is { } length && _lost is null)
        {
            double all = Math.Min(length.TotalSeconds * rate, plan.Total ?? double.MaxValue);
            _result.NotBegun = _user.IsCancellationRequested ? 0 : Math.Max(0, (long)all - number);
        }

        for (int i = 0; i < plan.Callers; i++)
        {
            await places.WaitAsync(CancellationToken.None).ConfigureAwait(false);
        }
    }

    private async Task CallAndLeaveAsync(RepeatedCall call, long due, SemaphoreSlim places)
    {
        await MeasureAsync(call, due).ConfigureAwait(false);
        places.Release();
    }

    private bool IsOver => _stop.IsCancellationRequested || _lost is not null
        || (_length is { } length && Stopwatch.GetElapsedTime(_start) >= length);

    private bool TryBegin() => !IsOver
        && (!_isMeasured || plan.Total is not { } total
            ? Interlocked.Increment(ref _begun) > 0
            : Interlocked.Increment(ref _begun) <= total);

    private async Task<bool> TryWaitUntilAsync(TimeSpan due)
    {
        TimeSpan left = due - Stopwatch.GetElapsedTime(_start);
        if (left > s_timerError)
        {
            await Task.Delay(left - s_timerError, _stop)
                .ConfigureAwait(ConfigureAwaitOptions.SuppressThrowing);
        }

        while (Stopwatch.GetElapsedTime(_start) < due && !IsOver)
        {
            Thread.Yield();
        }

        return !IsOver;
    }

    private async Task MeasureAsync(RepeatedCall call, long due)
    {
        try
        {
            IReadOnlyList<byte[]> answers = await call.RunAsync(_stop).ConfigureAwait(false);
            if (_isMeasured)
            {
                _result.Record(Stopwatch.GetElapsedTime(due), answers);
            }
        }
        catch (RpcException exception) when (exception.Status.DebugException is ShmTransportException transport)
        {
            // The next ones would fail at once, millions of them: there is nothing left to measure.
            _lost = transport;
            RecordFailure(exception.Status);
        }
        catch (RpcException exception)
        {
            RecordFailure(exception.Status);
        }
    }

    private void RecordFailure(Status status)
    {
        if (!_isMeasured || (_user.IsCancellationRequested && status.StatusCode == StatusCode.Cancelled))
        {
            return;
        }

        bool isBeyondGrace = _stop.IsCancellationRequested && status.StatusCode == StatusCode.Cancelled;
        _result.Record(isBeyondGrace
            ? new Status(
                StatusCode.DeadlineExceeded, $"The call did not end within {Grace.TotalSeconds} s after the load.")
            : status);
    }
}
