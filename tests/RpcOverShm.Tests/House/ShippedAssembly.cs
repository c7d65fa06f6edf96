namespace RpcOverShm.Tests.House;

/// <summary>
/// An assembly that others compile against: its root namespace is its name, and its types are those that are ours.
/// </summary>
public sealed record ShippedAssembly(string Name, IReadOnlyList<Type> Types, string ApprovedFile)
{
    public override string ToString() => Name;
}
