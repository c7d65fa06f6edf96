using System.Text.RegularExpressions;

namespace RpcOverShm.Tests.House;

/// <summary>
/// Facts about a single machine: personal paths and private package sources. Another clone has neither.
/// </summary>
internal static partial class MachineRules
{
    public static IEnumerable<string> Check(SourceFile file) =>
        from line in file.Lines.Index()
        from Match match in MachinePath().Matches(line.Item).Concat(Registry().Matches(line.Item))
        select file.At(line.Index + 1, $"'{match.Value}' belongs to one machine.");

    // The patterns must not match themselves, because this file is checked too.
    [GeneratedRegex(
        @"(?<![\w.}*-])/(?:home|root|Users|work|mnt|srv|builds?)/\w+|\b[A-Za-z]:\\+(?:Users|Program|Windows)")]
    private static partial Regex MachinePath();

    [GeneratedRegex(
        @"(?:api|www)\.nuget\.org|/v[23]/index\.json|<(?:package|Restore)Sources|registry\.\w+\.\w+|\bpypi\.org"
        + @"|\bpkgs\.dev\.azure|\bartifactory\.|\bnexus\.\w+\.\w+|proxy\.golang\.org",
        RegexOptions.IgnoreCase)]
    private static partial Regex Registry();
}
