using System.Reflection;

namespace RpcOverShm.Protocol;

/// <summary>The protocol versions that this build speaks, and the negotiation of one with a peer.</summary>
internal static class ProtocolVersion
{
    public const ushort Lowest = 1;

    public const ushort Highest = 1;

    /// <summary>The package name and version of this build, for messages about a version conflict.</summary>
    public static string Package { get; } = "RpcOverShm " + typeof(ProtocolVersion).Assembly
        .GetCustomAttribute<AssemblyInformationalVersionAttribute>()?.InformationalVersion.Split('+')[0];

    /// <summary>
    /// The version of this library without its label, such as 0.1.0. Needs no attribute: a server that starts tells it.
    /// </summary>
    public static string Library => typeof(ProtocolVersion).Assembly.GetName().Version?.ToString(3) ?? "";

    /// <summary>The protocol versions of this build as text.</summary>
    public static string Own => Describe(Lowest, Highest);

    /// <summary>Returns a range of versions as text.</summary>
    public static string Describe(ushort lowest, ushort highest) =>
        lowest == highest ? $"version {highest}" : $"versions {lowest} to {highest}";

    /// <summary>
    /// Returns the highest version in both ranges, or null if there is none. The client offers its range; the server
    /// chooses.
    /// </summary>
    public static ushort? Negotiate(ushort offeredLowest, ushort offeredHighest)
    {
        ushort highestCommon = Math.Min(offeredHighest, Highest);
        return highestCommon >= Math.Max(offeredLowest, Lowest) ? highestCommon : null;
    }
}
