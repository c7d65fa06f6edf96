namespace RpcOverShm.Explorer.Model;

/// <summary>The order in which the stores of a role's buffer reach memory.</summary>
public enum StoreOrder
{
    /// <summary>In the order of the program, as on x64.</summary>
    InOrder,

    /// <summary>
    /// In any order that keeps stores to one location in order, and a release behind all earlier stores, as on arm64.
    /// </summary>
    OutOfOrder,
}
