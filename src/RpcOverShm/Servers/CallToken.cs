namespace RpcOverShm.Servers;

/// <summary>
/// The cancellation token of one served call, made when the method first asks for it. Fires on the thread pool: what
/// users hang on it must not run on the thread that reads the ring. Any thread may use it.
/// </summary>
internal sealed class CallToken : IThreadPoolWorkItem
{
    private static readonly CancellationToken s_fired = new(canceled: true);

    private CancellationTokenSource? _source;
    private volatile bool _isFired;

    public CancellationToken Token
    {
        get
        {
            if (_source is null)
            {
                if (_isFired)
                {
                    return s_fired;
                }

                Interlocked.CompareExchange(ref _source, new CancellationTokenSource(), null);
                if (_isFired)
                {
                    // Fired in between: whoever fired may have seen no source.
                    Fire();
                }
            }

            return _source.Token;
        }
    }

    /// <summary>Cancels the token, if there is one, and any that is asked for later.</summary>
    public void Fire()
    {
        _isFired = true;
        Interlocked.MemoryBarrier();
        if (_source is not null)
        {
            ThreadPool.UnsafeQueueUserWorkItem(this, preferLocal: false);
        }
    }

    /// <summary>Not for callers: the pool's way in.</summary>
    public void Execute()
    {
        try
        {
            _source!.Cancel();
        }
        catch (AggregateException)
        {
            // What a user's callback throws has nobody to go to; the method sees its token cancelled all the same.
        }
    }
}
