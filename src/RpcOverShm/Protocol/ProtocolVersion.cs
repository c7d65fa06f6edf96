namespace RpcOverShm.Protocol;

/// <summary>Which versions of the protocol this build speaks, and the rule by which two peers agree on one.</summary>
internal static class ProtocolVersion
{
    public const ushort Lowest = 1;

    public const ushort Highest = 1;

    /// <summary>
    /// The highest version that both ranges hold, or null when they do not meet. The server decides; the client offers.
    /// </summary>
    public static ushort? Negotiate(ushort offeredLowest, ushort offeredHighest)
    {
        ushort highestCommon = Math.Min(offeredHighest, Highest);
        return highestCommon >= Math.Max(offeredLowest, Lowest) ? highestCommon : null;
    }
}
