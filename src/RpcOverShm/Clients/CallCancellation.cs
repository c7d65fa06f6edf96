using Grpc.Core;
using RpcOverShm.Calls;

namespace RpcOverShm.Clients;

/// <summary>
/// The deadline and the caller's token of one call, and a token that is cancelled when the call ends. Only calls that
/// need one of these have this object. A deadline or token that fires after the end has no effect.
/// </summary>
internal sealed class CallCancellation(ClientCall call)
{
    private CallDeadline? _timer; // of an awaited call, or of one whose thread runs callbacks
    private long _expiresAt;      // the time stamp of the deadline; 0 without one
    private CancellationTokenRegistration _cancellation;
    private CancellationTokenSource? _ended; // created on first use

    /// <summary>The time left until the deadline, zero or less once it has passed; null without a deadline.</summary>
    public TimeSpan? Remaining => _expiresAt == 0 ? null : CallDeadline.Until(_expiresAt);

    /// <summary>Cancelled when the call has ended; stops what prepares the call, such as its credentials.</summary>
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

            if (call.IsFinished)
            {
                Fire(ended);
            }

            return ended.Token;
        }
    }

    /// <summary>Returns the time left; null without a deadline, zero or less if the deadline has passed.</summary>
    /// <param name="options">The options of the call.</param>
    /// <param name="limit">The time limit of the method's calls; null for none.</param>
    /// <exception cref="InvalidOperationException">The deadline is neither UTC nor a special value.</exception>
    public static TimeSpan? TimeoutOf(in CallOptions options, CallTimeout? limit)
    {
        TimeSpan? own = TimeoutOf(options);
        return limit is null ? own : limit.Limit(own);
    }

    /// <summary>
    /// Arms the deadline and the caller's token. The call may end before this returns. A blocking call needs no timer:
    /// its thread limits each of its waits by <see cref="Remaining"/>, so its deadline does not depend on the pool.
    /// </summary>
    public void Arm(TimeSpan? timeout, CancellationToken cancellationToken)
    {
        if (timeout is { } time)
        {
            _expiresAt = CallDeadline.ExpiryAfter(time);
            _timer = call.Waiter is null ? new CallDeadline(time, call.OnDeadline) : null;
        }

        _cancellation = cancellationToken.UnsafeRegister(CallPresentation.Cancel, call);
    }

    /// <summary>Starts the timer of a blocking call, whose thread has begun to run user code.</summary>
    public void EnsureTimer()
    {
        if (_timer is null && Remaining is { } remaining)
        {
            var timer = new CallDeadline(remaining > TimeSpan.Zero ? remaining : TimeSpan.Zero, call.OnDeadline);
            _timer = timer;
            Interlocked.MemoryBarrier(); // StoreLoad: a thread that ends the call sees the timer, or this one the end.
            if (call.IsFinished)
            {
                timer.Dispose();
            }
        }
    }

    /// <summary>Disarms the deadline and the caller's token, and cancels <see cref="Ended"/>.</summary>
    public void Release()
    {
        _timer?.Dispose();
        _cancellation.Unregister();
        if (Volatile.Read(ref _ended) is { } ended)
        {
            Fire(ended);
        }
    }

    private static TimeSpan? TimeoutOf(in CallOptions options)
    {
        if (options.Deadline is not { } deadline || deadline == DateTime.MaxValue)
        {
            return null;
        }

        if (deadline == DateTime.MinValue)
        {
            return TimeSpan.Zero;
        }

        return deadline.Kind == DateTimeKind.Utc
            ? deadline - TimeProvider.System.GetUtcNow().UtcDateTime
            : throw new InvalidOperationException(
                "Deadline must have a kind DateTimeKind.Utc or be equal to DateTime.MaxValue or DateTime.MinValue.");
    }

    // On the thread pool: the callbacks include user code, which must not run on the thread that ends the call.
    private static void Fire(CancellationTokenSource ended) => ThreadPool.UnsafeQueueUserWorkItem(
        static source =>
        {
            try
            {
                source.Cancel();
            }
            catch (AggregateException)
            {
                // No caller is left to receive an exception of a user's callback.
            }
        },
        ended,
        preferLocal: false);
}
