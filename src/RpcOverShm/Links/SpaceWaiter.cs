namespace RpcOverShm.Links;

/// <summary>
/// The thread that sleeps until the peer has made space, for everybody whose bytes did not fit. Started when it is
/// first needed; goes away when it has had nothing to do for a while. Nobody else ever waits for space: the thread that
/// drains the incoming ring must not, and callers wait for their answers instead.
/// </summary>
/// <param name="link">Whose ring it is.</param>
/// <param name="sendOrPark">
/// Sends what fits. Returns the head to sleep on when more waits, with this side announced as sleeping;
/// null when nothing waits.
/// </param>
/// <param name="unpark">Takes the announcement back.</param>
internal sealed class SpaceWaiter(PeerLink link, Func<long?> sendOrPark, Action unpark)
{
    private const int StackBytes = 256 << 10;
    private static readonly TimeSpan s_linger = TimeSpan.FromSeconds(5);

    private readonly object _gate = new();
    private bool _isRunning;
    private bool _isRequested;
    private bool _isClosed;

    /// <summary>Something waits for space. May be called from any thread, any number of times.</summary>
    public void Wake()
    {
        CloseReason? problem = null;
        lock (_gate)
        {
            if (_isClosed)
            {
                return;
            }

            _isRequested = true;
            if (_isRunning)
            {
                Monitor.Pulse(_gate);
            }
            else if (link.TryEnter())
            {
                problem = LinkThread.Start(Run, "RpcOverShm space", StackBytes);
                _isRunning = problem is null;
            }
        }

        if (problem is not null)
        {
            link.Close(problem);
            link.Leave();
        }
    }

    /// <summary>Sends the thread home. A closed link wakes it from its sleep.</summary>
    public void Close()
    {
        lock (_gate)
        {
            _isClosed = true;
            Monitor.Pulse(_gate);
        }
    }

    private void Run()
    {
        while (WaitUntilRequested())
        {
            while (true)
            {
                uint localEvents = link.LocalEvents;
                if (link.IsClosed || sendOrPark() is not { } head)
                {
                    break;
                }

                link.SleepForSpace(head, localEvents);
                unpark();
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

            bool isRequested = _isRequested && !_isClosed;
            _isRequested = false;
            _isRunning = isRequested;
            return isRequested;
        }
    }
}
