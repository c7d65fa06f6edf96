namespace RpcOverShm.Diagnostics;

/// <summary>
/// Creates the timers of the library, without the context of the thread that asks for them: a timer would keep all that
/// the AsyncLocals of its creator refer to.
/// </summary>
internal static class BackgroundTimer
{
    /// <summary>Creates a timer that is not due. Its callback runs on the thread pool.</summary>
    public static Timer Create(TimerCallback callback, object state)
    {
        using (ExecutionContext.SuppressFlow())
        {
            return new Timer(callback, state, Timeout.Infinite, Timeout.Infinite);
        }
    }
}
