using Grpc.Core;
using RpcOverShm.Calls;
using RpcOverShm.Diagnostics;
using RpcOverShm.Scheduling;

namespace RpcOverShm.Clients;

/// <summary>
/// The deadline and the caller's token of one call, and a token that is cancelled when the call ends. Only calls that
/// need one of these have this object. A deadline or token that fires after the end has no effect.
/// </summary>
internal sealed class CallCancellation(ClientCall call)
{
    private DueTime? _deadline; // of an awaited call, or of one whose thread runs callbacks
    private long _expiresAt;    // the time stamp of the deadline; 0 without one
    private CancellationTokenRegistration _cancellation;
    private CancellationTokenSource? _ended; // created on first use

    /// <summary>The time left until the deadline, zero or less once it has passed; null without a deadline.</summary>
    public TimeSpan? Remaining => _expiresAt == 0 ? null : DueTime.Until(_expiresAt);

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
        return limit is null ? own : limit.Apply(own);
    }

    /// <summary>
    /// Arms the deadline and the token of the caller. The call may end before this method returns. A blocking call
    /// needs no timer: its thread bounds each wait by <see cref="Remaining"/>.
    /// </summary>
    public void Arm(TimeSpan? timeout, CancellationToken cancellationToken)
    {
        if (timeout is { } time)
        {
            _expiresAt = DueTime.After(time);
            _deadline = call.Latch is null ? new DueTime(time, call.OnDeadline) : null;
        }

        _cancellation = cancellationToken.UnsafeRegister(CallPresentation.Cancel, call);
    }

    /// <summary>Starts the timer of the deadline of a blocking call whose thread is about to run user code.</summary>
    public void StartDeadlineTimer()
    {
        if (_deadline is null && Remaining is { } remaining)
        {
            var deadline = new DueTime(remaining, call.OnDeadline);
            _deadline = deadline;

            // StoreLoad: this thread stores the timer and reads the outcome; a thread that ends the call does both in
            // the other order.
            Interlocked.MemoryBarrier();
            if (call.IsFinished)
            {
                deadline.Dispose();
            }
        }
    }

    /// <summary>Disarms the deadline and the caller's token, and cancels <see cref="Ended"/>.</summary>
    public void Release()
    {
        _deadline?.Dispose();
        UninterruptibleLock.Run(_cancellation, static registration => registration.Unregister());
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

    // The callbacks include user code, which must not run on the thread that ends the call. Nobody is left to receive
    // an exception of theirs.
    private static void Fire(CancellationTokenSource ended) => ended.CancelObserved();
}
