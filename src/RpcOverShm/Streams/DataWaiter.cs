using System.Threading.Tasks.Sources;
using RpcOverShm.Links;

namespace RpcOverShm.Streams;

/// <summary>
/// The thread that waits for the data of asynchronous reads, one wait at a time. It starts on first use and exits after
/// an idle time. <paramref name="wait"/> returns when there is data, or when its argument returns false: no read waits.
/// </summary>
internal sealed class DataWaiter(PeerLink link, Action<Func<bool>> wait) : IValueTaskSource
{
    private const int StackBytes = 256 << 10;
    private static readonly TimeSpan s_linger = TimeSpan.FromSeconds(5);

    private readonly object _gate = new();
    private ManualResetValueTaskSourceCore<bool> _source = new() { RunContinuationsAsynchronously = true };
    private bool _isRunning;
    private bool _isClosed;
    private volatile bool _isRequested;

    /// <summary>Completes on the thread pool when there may be data or the link has closed.</summary>
    /// <exception cref="OperationCanceledException">The token was cancelled.</exception>
    public async ValueTask WaitAsync(CancellationToken cancellationToken)
    {
        ValueTask wait = Begin();
        using (cancellationToken.UnsafeRegister(static (waiter, token) => ((DataWaiter)waiter!).Cancel(token), this))
        {
            await wait.ConfigureAwait(false);
        }
    }

    /// <summary>Ends the thread. The close of the link wakes it if it sleeps.</summary>
    public void Close()
    {
        lock (_gate)
        {
            _isClosed = true;
            Complete();
            Monitor.Pulse(_gate);
        }
    }

    void IValueTaskSource.GetResult(short token) => _source.GetResult(token);

    ValueTaskSourceStatus IValueTaskSource.GetStatus(short token) => _source.GetStatus(token);

    void IValueTaskSource.OnCompleted(
        Action<object?> continuation, object? state, short token, ValueTaskSourceOnCompletedFlags flags) =>
        _source.OnCompleted(continuation, state, token, flags);

    private ValueTask Begin()
    {
        CloseReason? problem = null;
        lock (_gate)
        {
            // The thread reads the ring's memory, so it keeps the memory mapped until it exits.
            if (!_isClosed && !_isRunning && link.TryEnter())
            {
                problem = LinkThread.Start(Run, "RpcOverShm stream", StackBytes);
                _isRunning = problem is null;
            }

            if (!_isClosed && _isRunning)
            {
                _source.Reset();
                _isRequested = true;
                Monitor.Pulse(_gate);
                return new ValueTask(this, _source.Version);
            }
        }

        if (problem is not null)
        {
            link.Close(problem);
            link.Leave();
        }

        return ValueTask.CompletedTask;
    }

    private void Run()
    {
        while (WaitUntilRequested())
        {
            wait(() => _isRequested);
            lock (_gate)
            {
                Complete();
            }
        }

        link.Leave();
    }

    private bool WaitUntilRequested()
    {
        lock (_gate)
        {
            if (!_isRequested && !_isClosed)
            {
                Monitor.Wait(_gate, s_linger);
            }

            _isRunning = _isRequested;
            return _isRequested;
        }
    }

    private void Cancel(CancellationToken cancellationToken)
    {
        lock (_gate)
        {
            if (!_isRequested)
            {
                return;
            }

            _isRequested = false;
            _source.SetException(new OperationCanceledException(cancellationToken));
        }

        // The thread may sleep for the cancelled read.
        link.RaiseLocalEvent();
    }

    // The caller holds the gate.
    private void Complete()
    {
        if (_isRequested)
        {
            _isRequested = false;
            _source.SetResult(true);
        }
    }
}
