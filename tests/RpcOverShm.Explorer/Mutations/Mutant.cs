using RpcOverShm.Explorer.Model;

namespace RpcOverShm.Explorer.Mutations;

/// <summary>One change of the product's source that breaks a rule, and the scenario that shows it.</summary>
/// <param name="Rule">The rule or fence that is left out.</param>
/// <param name="File">The file that changes.</param>
/// <param name="From">The text that must occur exactly once.</param>
/// <param name="To">The text in its place.</param>
/// <param name="FoundBy">The name of the scenario that must find it.</param>
internal sealed record Mutant(string Rule, string File, string From, string To, string FoundBy)
{
    /// <summary>The order of stores that shows it; a mutant found only out of order would be correct on x64.</summary>
    public StoreOrder Order { get; init; }

    /// <summary>
    /// A second change, of the limits: some rules are only needed once a limit is less strict.
    /// </summary>
    public (string File, string From, string To)? Limit { get; init; }

    public override string ToString() => Rule;
}
