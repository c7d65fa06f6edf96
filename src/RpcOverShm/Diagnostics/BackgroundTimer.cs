namespace RpcOverShm.Diagnostics;

/// <summary>
/// A timer that is not due at first. It has no context of the thread that makes it: it would keep all that the
/// AsyncLocals of that thread refer to. Its callback runs on the thread pool. The lock that all timers of .NET share
/// does not end a change by an interrupt (<see cref="UninterruptibleLock"/>). Thread-safe.
/// </summary>
internal sealed class BackgroundTimer : IDisposable
{
    private readonly Timer _timer;

    public BackgroundTimer(TimerCallback callback, object state)
    {
        using (ExecutionContext.SuppressFlow())
        {
            _timer = new Timer(callback, state, Timeout.Infinite, Timeout.Infinite);
        }
    }

    /// <summary>Makes the timer due after a time, once or in periods; an infinite one stops it.</summary>
    public void Change(TimeSpan time, TimeSpan period) =>
        UninterruptibleLock.Run((_timer, time, period), static timer => timer._timer.Change(timer.time, timer.period));

    public void Dispose() => UninterruptibleLock.Run(_timer, static timer =>
    {
        timer.Dispose();
        return true;
    });
}
