using System.Text.RegularExpressions;

namespace RpcOverShm.Tests.House;

/// <summary>
/// What only one machine knows: where somebody's files lie, and where its packages come from. A clone elsewhere has
/// neither.
/// </summary>
internal static partial class MachineRules
{
    public static IEnumerable<string> Check(SourceFile file) =>
        from line in file.Lines.Index()
        from Match match in MachinePath().Matches(line.Item).Concat(Registry().Matches(line.Item))
        select file.At(line.Index + 1, $"'{match.Value}' belongs to one machine.");

    // The patterns do not match themselves, or this file would be found.
    [GeneratedRegex(
        @"(?<![\w.}*-])/(?:home|root|Users|work|mnt|srv|builds?)/\w+|\b[A-Za-z]:\\+(?:Users|Program|Windows)")]
    private static partial Regex MachinePath();

    [GeneratedRegex(
        @"(?:api|www)\.nuget\.org|/v[23]/index\.json|<(?:package|Restore)Sources|registry\.\w+\.\w+|\bpypi\.org"
        + @"|\bpkgs\.dev\.azure|\bartifactory\.|\bnexus\.\w+\.\w+|proxy\.golang\.org",
        RegexOptions.IgnoreCase)]
    private static partial Regex Registry();
}
