namespace RpcOverShm.Retries;

/// <summary>The budget of a channel for the requests that its retry buffers keep. Thread-safe.</summary>
/// <param name="wholeBytes">The limit of all calls together, in bytes; null for no limit.</param>
/// <param name="callBytes">The limit of one call, in bytes; null for no limit.</param>
internal sealed class RetryBudget(long? wholeBytes, long? callBytes)
{
    private long _kept;

    /// <summary>The bytes that all calls keep now.</summary>
    public long Kept => Interlocked.Read(ref _kept);

    /// <summary>Takes bytes for a call that keeps <c>ofCall</c> already. Returns false if beyond a limit.</summary>
    public bool TryTake(long bytes, long ofCall)
    {
        if (ofCall + bytes > callBytes)
        {
            return false;
        }

        if (Interlocked.Add(ref _kept, bytes) > wholeBytes)
        {
            Interlocked.Add(ref _kept, -bytes);
            return false;
        }

        return true;
    }

    public void GiveBack(long bytes) => Interlocked.Add(ref _kept, -bytes);
}
