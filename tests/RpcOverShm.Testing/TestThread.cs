namespace RpcOverShm.Testing;

/// <summary>A thread of a test. Join fails if the thread threw an exception or does not end in time.</summary>
public sealed class TestThread
{
    private readonly Thread _thread;
    private Exception? _exception;

    private TestThread(string name, Action body)
    {
        _thread = new Thread(() => Run(body)) { IsBackground = true, Name = name };
        _thread.Start();
    }

    public bool IsAlive => _thread.IsAlive;

    /// <summary>Whether the thread waits for a lock or a signal, or sleeps.</summary>
    public bool IsWaiting => (_thread.ThreadState & ThreadState.WaitSleepJoin) != 0;

    public static TestThread Start(string name, Action body) => new(name, body);

    /// <summary>Runs a body on several threads at the same time, with the thread's number, and joins them.</summary>
    public static void RunAll(string name, int count, Action<int> body)
    {
        TestThread[] threads = [.. Enumerable.Range(0, count).Select(i => Start(name, () => body(i)))];
        Array.ForEach(threads, thread => thread.Join());
    }

    public void Interrupt() => _thread.Interrupt();

    /// <exception cref="TimeoutException">The thread has not ended within <see cref="Timeouts.Wait"/>.</exception>
    public void Join()
    {
        if (!_thread.Join(Timeouts.Wait))
        {
            throw new TimeoutException(
                $"The thread '{_thread.Name}' has not ended within {Timeouts.Wait.TotalSeconds} s.");
        }

        if (_exception is not null)
        {
            throw new InvalidOperationException(
                $"The thread '{_thread.Name}' has failed: {_exception.Message}", _exception);
        }
    }

    private void Run(Action body)
    {
        try
        {
            body();
        }
        catch (Exception exception)
        {
            _exception = exception;
        }
    }
}
