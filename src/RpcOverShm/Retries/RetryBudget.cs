namespace RpcOverShm.Retries;

/// <summary>
/// How many bytes of requests a channel keeps for further attempts, in all and for one call. Any thread may use it.
/// </summary>
/// <param name="wholeBytes">Of all calls; null for any.</param>
/// <param name="callBytes">Of one call; null for any.</param>
internal sealed class RetryBudget(long? wholeBytes, long? callBytes)
{
    private long _kept;

    /// <summary>How many bytes are kept now.</summary>
    public long Kept => Interlocked.Read(ref _kept);

    /// <summary>Takes room for bytes. False when there is none.</summary>
    /// <param name="bytes">How many.</param>
    /// <param name="ofCall">How many the call keeps already.</param>
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
