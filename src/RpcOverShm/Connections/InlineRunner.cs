using RpcOverShm.Rings;
using RpcOverShm.Scheduling;
using RpcOverShm.Sending;

namespace RpcOverShm.Connections;

/// <summary>
/// Runs the pending user code of a connection's calls on the event loop's thread, or queues it to the thread pool, as
/// the scheduling mode and the code's budget say. Used by that thread only, without the reader role.
/// </summary>
internal sealed class InlineRunner(ReaderCoordinator coordinator)
{
    // The longest that an answer may wait for more answers before it is published.
    private const long MostDeferredNanoseconds = 20_000;

    // What a record without user code counts: sixteen of them make an answer wait for the longest time.
    private const long NanosecondsPerRecord = MostDeferredNanoseconds / 16;

    private readonly RingReader _ring = coordinator.Ring;
    private long _deferredNanoseconds; // typical time of the user code that ran since a publish was deferred

    /// <summary>
    /// Runs or queues the pending user code of a call, of so many messages. Returns false if the loop was lost
    /// meanwhile.
    /// </summary>
    public bool RunOrQueue(LoopThread me, ConnectionCall call, int messages)
    {
        if (!call.RunsOnBlockedThread && coordinator.IsInline(call.Budget))
        {
            return RunInline(me, call, messages);
        }

        call.QueueUserCode();
        OnRecordWithoutCode();
        return true;
    }

    /// <summary>Runs a call's pending user code inline, without locks. Returns false if the loop was lost.</summary>
    private bool RunInline(LoopThread me, ConnectionCall call, int messages)
    {
        InlineBudget budget = call.Budget;
        PublishIfDueBefore(budget.TypicalNanoseconds * messages, me);
        coordinator.SetRunning(budget);
        me.Role = coordinator.Role;
        me.Loop.BeginUserCode(me);
        long begun = budget.Begin(me.Run);
        try
        {
            call.RunUserCode();
        }
        catch (Exception exception)
        {
            // Tasks store their exceptions. This one comes from a user's synchronization context or task scheduler.
            coordinator.Link.LogUserCodeFailed(exception);
        }

        AmbientContext.RestoreClean(me.Traits);
        if (!me.Loop.EndUserCode(me))
        {
            coordinator.OnUnstuck();
            return false;
        }

        // More records of the same call wait only for that call's own code, so they do not count as waiting.
        budget.End(begun, messages, coordinator.IsAnyWaiting && !_ring.IsNextOf(call.Id.Value));
        return true;
    }

    /// <summary>
    /// Publishes deferred answers that have waited for many records whose user code does not run here, such as the
    /// parts of a large message, credit, or requests for the thread pool.
    /// </summary>
    public void OnRecordWithoutCode()
    {
        if (coordinator.HasDeferred && (_deferredNanoseconds += NanosecondsPerRecord) > MostDeferredNanoseconds)
        {
            coordinator.FlushDeferred();
            _deferredNanoseconds = 0;
        }
    }

    /// <summary>
    /// Publishes deferred answers before user code of this typical duration would keep them for too long. A clock would
    /// cost more than such a run; the watchdog bounds a run that takes much longer than its kind does.
    /// </summary>
    private void PublishIfDueBefore(long nanoseconds, LoopThread me)
    {
        _deferredNanoseconds = coordinator.HasDeferred ? _deferredNanoseconds + nanoseconds : nanoseconds;
        me.MayDefer = nanoseconds <= MostDeferredNanoseconds;
        if (_deferredNanoseconds > MostDeferredNanoseconds)
        {
            coordinator.FlushDeferred();
            _deferredNanoseconds = nanoseconds;
        }
    }
}
