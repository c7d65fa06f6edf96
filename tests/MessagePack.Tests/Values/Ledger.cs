namespace MessagePack.Tests.Values;

/// <summary>Somebody's own dictionary that can be told how to compare.</summary>
public class Ledger : Dictionary<long, int>
{
    public Ledger()
    {
    }

    public Ledger(int capacity, IEqualityComparer<long> comparer)
        : base(capacity, comparer)
    {
    }
}
