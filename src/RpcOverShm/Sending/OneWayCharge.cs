namespace RpcOverShm.Sending;

/// <summary>The share of one incoming one-way call in the window, until each of those that hold it has ended.</summary>
internal sealed class OneWayCharge(OneWayWindow window)
{
    private int _holders = 2; // the request, until it has come whole, and the method
    private int _hasMethodEnded;
    private long _bytes;

    /// <summary>Takes bytes. Only the holder of the reader role calls this, while the request comes.</summary>
    public void Take(long bytes)
    {
        _bytes += bytes;
        window.Take(bytes);
    }

    /// <summary>Adds a holder, such as the report of the call's failure. Called by one that has not ended.</summary>
    public void Hold() => Interlocked.Increment(ref _holders);

    /// <summary>Ends the hold of the method, once: several threads may find that it ends or will not begin.</summary>
    public void EndMethod()
    {
        if (Interlocked.Exchange(ref _hasMethodEnded, 1) == 0)
        {
            End();
        }
    }

    /// <summary>Ends the hold of one holder.</summary>
    public void End()
    {
        if (Interlocked.Decrement(ref _holders) == 0)
        {
            window.Return(_bytes);
        }
    }
}
