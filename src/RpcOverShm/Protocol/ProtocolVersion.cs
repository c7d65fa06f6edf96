using System.Reflection;

namespace RpcOverShm.Protocol;

/// <summary>Which versions of the protocol this build speaks, and the rule by which two peers agree on one.</summary>
internal static class ProtocolVersion
{
    public const ushort Lowest = 1;

    public const ushort Highest = 1;

    /// <summary>The package of this build with its version, for people whose two sides have different ones.</summary>
    public static string Package { get; } = "RpcOverShm " + typeof(ProtocolVersion).Assembly
        .GetCustomAttribute<AssemblyInformationalVersionAttribute>()?.InformationalVersion.Split('+')[0];

    /// <summary>The versions of this build, for people.</summary>
    public static string Own => Describe(Lowest, Highest);

    /// <summary>A range of versions, for people.</summary>
    public static string Describe(ushort lowest, ushort highest) =>
        lowest == highest ? $"version {highest}" : $"versions {lowest} to {highest}";

    /// <summary>
    /// The highest version that both ranges hold, or null when they do not meet. The server decides; the client offers.
    /// </summary>
    public static ushort? Negotiate(ushort offeredLowest, ushort offeredHighest)
    {
        ushort highestCommon = Math.Min(offeredHighest, Highest);
        return highestCommon >= Math.Max(offeredLowest, Lowest) ? highestCommon : null;
    }
}
