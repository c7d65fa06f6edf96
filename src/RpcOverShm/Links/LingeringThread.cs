namespace RpcOverShm.Links;

/// <summary>
/// A background thread that serves one link on demand, or one of the thread pool if the system has no thread. It starts
/// with the first request, runs <see cref="Serve"/> once or more for the requests that came, and ends after five
/// seconds without one. While it runs, the memory stays mapped.
/// </summary>
internal abstract class LingeringThread(PeerLink link, string name)
{
    private const int StackBytes = 256 << 10;
    private static readonly TimeSpan s_linger = TimeSpan.FromSeconds(5);

    private readonly object _gate = new();
    private bool _isRunning;
    private bool _isRequested;
    private bool _isClosed;

    protected PeerLink Link => link;

    /// <summary>
    /// Requests a run of <see cref="Serve"/>; starts the thread if needed. Any thread may call this at any time.
    /// Returns false if the link is closed already.
    /// </summary>
    public bool Wake()
    {
        lock (_gate)
        {
            if (_isClosed || (!_isRunning && !link.TryEnter()))
            {
                return false;
            }

            _isRequested = true;
            if (_isRunning)
            {
                Monitor.Pulse(_gate);
                return true;
            }

            _isRunning = true;
            if (LinkThread.Start(Run, name, StackBytes) is not null)
            {
                ThreadPool.UnsafeQueueUserWorkItem(_ => Run(), null);
            }

            return true;
        }
    }

    /// <summary>Ends the thread. The caller must have closed the link, which ends a sleep on the ring.</summary>
    public virtual void Close()
    {
        lock (_gate)
        {
            _isClosed = true;
            Monitor.Pulse(_gate);
        }
    }

    /// <summary>Does all that was requested. If a request comes meanwhile, the thread calls it again.</summary>
    protected abstract void Serve();

    private void Run()
    {
        while (WaitUntilRequested())
        {
            Serve();
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

            _isRunning = _isRequested && !_isClosed;
            _isRequested = false;
            return _isRunning;
        }
    }
}
