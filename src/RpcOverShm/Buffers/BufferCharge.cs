namespace RpcOverShm.Buffers;

/// <summary>
/// The bytes that one call has taken from a budget. They change in steps, so that a stream of small messages costs no
/// interlocked operation for each. Guarded by the owner; without a budget, nothing is counted.
/// </summary>
internal struct BufferCharge(BufferBudget? budget)
{
    private const long StepBytes = 4 << 10;

    private long _taken;

    /// <summary>Counts at least the kept bytes. Returns null, or the budget that they would exceed.</summary>
    public BufferBudget? Grow(long keptBytes)
    {
        if (budget is null || keptBytes <= _taken)
        {
            return null;
        }

        long more = ((keptBytes - _taken + StepBytes - 1) / StepBytes) * StepBytes;
        BufferBudget? full = budget.Take(more);
        _taken += full is null ? more : 0;
        return full;
    }

    /// <summary>Counts the kept bytes and at most one step more.</summary>
    public void Shrink(long keptBytes)
    {
        long less = Math.Max(0, _taken - Math.Max(keptBytes, StepBytes)) / StepBytes * StepBytes;
        if (less > 0)
        {
            budget!.Give(less);
            _taken -= less;
        }
    }

    /// <summary>Counts nothing anymore.</summary>
    public void Release()
    {
        if (_taken > 0)
        {
            budget!.Give(_taken);
            _taken = 0;
        }
    }
}
