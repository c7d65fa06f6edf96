namespace RpcOverShm.Diagnostics;

/// <summary>
/// A lock that <see cref="Thread.Interrupt"/> does not end the wait for. The user's thread runs the library's code for
/// other calls too: an exception from a lock would leave their state half changed. The interrupt waits for the next
/// sleep of the thread that is the user's. A monitor otherwise: a thread that has it may enter it again.
/// </summary>
internal sealed class UninterruptibleLock
{
    /// <summary>Enters the lock until the result is disposed.</summary>
    public Holding Enter()
    {
        Take();
        return new Holding(this);
    }

    /// <summary>Enters the lock; <see cref="Exit"/> must follow.</summary>
    public void Take()
    {
        if (!Monitor.TryEnter(this))
        {
            TakeLater();
        }
    }

    /// <summary>Enters the lock if it is free; <see cref="Exit"/> must follow then.</summary>
    public bool TryTake() => Monitor.TryEnter(this);

    public void Exit() => Monitor.Exit(this);

    /// <summary>Leaves the lock until a pulse, or until the time has passed. The caller holds the lock.</summary>
    /// <exception cref="ThreadInterruptedException">The thread was interrupted; it has the lock again.</exception>
    public bool Wait(TimeSpan longest) => Monitor.Wait(this, longest);

    /// <summary>
    /// Waits as the other method does, on a thread of the library: an interrupt, which user code has left to it, is
    /// forgotten, and ends the wait as a pulse would.
    /// </summary>
    public bool WaitOnOwnThread(TimeSpan longest)
    {
        try
        {
            return Monitor.Wait(this, longest);
        }
        catch (ThreadInterruptedException)
        {
            return true;
        }
    }

    /// <summary>Wakes one thread that waits. The caller holds the lock.</summary>
    public void Pulse() => Monitor.Pulse(this);

    /// <summary>Wakes all threads that wait. The caller holds the lock.</summary>
    public void PulseAll() => Monitor.PulseAll(this);

    /// <summary>Runs code of .NET that takes a lock inside, again if an interrupt has ended it there.</summary>
    public static TResult Run<TState, TResult>(TState state, Func<TState, TResult> action)
    {
        bool isInterrupted = false;
        try
        {
            while (true)
            {
                try
                {
                    return action(state);
                }
                catch (ThreadInterruptedException)
                {
                    isInterrupted = true;
                }
            }
        }
        finally
        {
            if (isInterrupted)
            {
                Thread.CurrentThread.Interrupt();
            }
        }
    }

    private void TakeLater() => Run(this, static taken =>
    {
        Monitor.Enter(taken);
        return true;
    });

    /// <summary>One holding of the lock, which ends when it is disposed.</summary>
    internal readonly ref struct Holding(UninterruptibleLock taken) : IDisposable
    {
        public void Dispose() => taken.Exit();
    }
}
