using System.Collections.Concurrent;

namespace RpcOverShm.FunctionalTests.Scheduling;

/// <summary>A synchronization context with one thread, like that of a user interface.</summary>
internal sealed class OneThreadContext : SynchronizationContext, IDisposable
{
    private readonly BlockingCollection<(SendOrPostCallback Callback, object? State)> _posted = [];
    private readonly Thread _thread;

    public OneThreadContext()
    {
        _thread = new Thread(Run) { IsBackground = true, Name = "One thread" };
        _thread.Start();
    }

    public int ThreadId => _thread.ManagedThreadId;

    /// <summary>Runs asynchronous code on the context's thread.</summary>
    public Task RunAsync(Func<Task> action)
    {
        var ended = new TaskCompletionSource(TaskCreationOptions.RunContinuationsAsynchronously);
        Post(
            async _ =>
            {
                try
                {
                    await action();
                    ended.SetResult();
                }
                catch (Exception exception)
                {
                    ended.SetException(exception);
                }
            },
            null);
        return ended.Task;
    }

    public override void Post(SendOrPostCallback d, object? state) => _posted.Add((d, state));

    public void Dispose()
    {
        _posted.CompleteAdding();
        _thread.Join(Timeouts.Wait);
        _posted.Dispose();
    }

    private void Run()
    {
        SetSynchronizationContext(this);
        foreach ((SendOrPostCallback callback, object? state) in _posted.GetConsumingEnumerable())
        {
            callback(state);
        }
    }
}
