namespace RpcOverShm.Explorer.Shims;

/// <summary>A spin of one check: a longer one only repeats it, and the other side may run in between anyway.</summary>
internal sealed class SpinBudget
{
    public bool SpinUntil<TCondition>(TCondition condition)
        where TCondition : struct, ISpinCondition =>
        condition.IsMet;
}

/// <summary>The condition that a spinning thread waits for.</summary>
internal interface ISpinCondition
{
    bool IsMet { get; }
}
