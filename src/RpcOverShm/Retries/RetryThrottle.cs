using RpcOverShm.Diagnostics;

namespace RpcOverShm.Retries;

/// <summary>
/// The token bucket of gRFC A6. A failure takes one token, a success returns a part of one, and calls are retried only
/// while more than half of the tokens are left. One per channel; thread-safe.
/// </summary>
internal sealed class RetryThrottle
{
    private readonly UninterruptibleLock _lock = new();
    private readonly double _maxTokens;
    private readonly double _tokenRatio;
    private double _tokens;

    public RetryThrottle(double maxTokens, double tokenRatio)
    {
        _maxTokens = maxTokens;
        _tokenRatio = tokenRatio;
        _tokens = maxTokens;
    }

    /// <summary>Records a call that succeeded.</summary>
    public void RecordSuccess()
    {
        using (_lock.Enter())
        {
            _tokens = Math.Min(_maxTokens, _tokens + _tokenRatio);
        }
    }

    /// <summary>Records a retryable failure of an attempt. Returns whether it may be retried.</summary>
    public bool RecordFailure()
    {
        using (_lock.Enter())
        {
            _tokens = Math.Max(0, _tokens - 1);
            return _tokens > _maxTokens / 2;
        }
    }
}
