namespace RpcOverShm.Links;

/// <summary>
/// The thread that sleeps until the peer has released space, on behalf of all frames or bytes that did not fit. It
/// starts when it is first needed and ends after some time without a request. A connection needs no other thread that
/// waits for space: the reader thread must not, and callers wait for their answers. A blocking write to a byte stream
/// waits on its own thread.
/// </summary>
/// <param name="link">The link whose ring is full.</param>
/// <param name="sendOrPark">
/// Sends what fits. If more waits, marks this side as parked and returns the head to sleep on; else returns null.
/// </param>
/// <param name="unpark">Clears the mark.</param>
internal sealed class SpaceWaiter(PeerLink link, Func<long?> sendOrPark, Action unpark)
{
    private const int StackBytes = 256 << 10;
    private static readonly TimeSpan s_linger = TimeSpan.FromSeconds(5);

    private readonly object _gate = new();
    private bool _isRunning;
    private bool _isRequested;
    private bool _isClosed;

    /// <summary>
    /// Requests the thread, because something waits for space. Any thread may call this, any number of times.
    /// </summary>
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

    /// <summary>Ends the thread. The caller must have closed the link, which ends a sleep for space.</summary>
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
