namespace RpcOverShm.Retries;

/// <summary>
/// The bucket of tokens of gRFC A6: failures take one out, successes put a part of one in, and what has failed is tried
/// again only while more than half are left. One for a channel; any thread may use it.
/// </summary>
internal sealed class RetryThrottle
{
    private readonly Lock _gate = new();
    private readonly double _maxTokens;
    private readonly double _tokenRatio;
    private double _tokens;

    /// <param name="maxTokens">What the bucket holds, and has at first.</param>
    /// <param name="tokenRatio">What a success puts in.</param>
    public RetryThrottle(double maxTokens, double tokenRatio)
    {
        _maxTokens = maxTokens;
        _tokenRatio = tokenRatio;
        _tokens = maxTokens;
    }

    /// <summary>A call ended well.</summary>
    public void RecordSuccess()
    {
        lock (_gate)
        {
            _tokens = Math.Min(_maxTokens, _tokens + _tokenRatio);
        }
    }

    /// <summary>An attempt failed in a way that would be tried again. False when it must not be.</summary>
    public bool RecordFailure()
    {
        lock (_gate)
        {
            _tokens = Math.Max(0, _tokens - 1);
            return _tokens > _maxTokens / 2;
        }
    }
}
