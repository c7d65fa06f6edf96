using Microsoft.CodeAnalysis.CSharp.Syntax;

namespace RpcOverShm.Tests.House;

/// <summary>
/// Every acquire and release of shared memory has a "// SYNC name:" comment, and every name has both a release and an
/// acquire: half a pair orders nothing.
/// </summary>
internal static class SyncRules
{
    private const string Keyword = "SYNC";
    private const string Accesses = "SharedMemoryOrder";

    public static IEnumerable<string> Check(IEnumerable<SourceFile> files)
    {
        var acquired = new HashSet<string>();
        var released = new HashSet<string>();
        var findings = new List<string>();
        foreach (SourceFile file in files)
        {
            var comments = new NamedComments(file, Keyword);
            foreach (MemberAccessExpressionSyntax access in
                file.Root.DescendantNodes().OfType<MemberAccessExpressionSyntax>())
            {
                if (access.Expression.ToString().Split('.')[^1] != Accesses)
                {
                    continue;
                }

                IReadOnlyList<string> names = comments.NamesFor(access);
                bool isAcquire = access.Name.Identifier.Text.EndsWith("Acquire", StringComparison.Ordinal);
                (isAcquire ? acquired : released).UnionWith(names);
                if (names.Count == 0)
                {
                    findings.Add(file.At(access, $"{access} without a {Keyword} comment."));
                }
            }

            findings.AddRange(comments.Unclaimed());
        }

        return findings
            .Concat(acquired.Except(released).Select(name => $"{Keyword} {name} is acquired and never released."))
            .Concat(released.Except(acquired).Select(name => $"{Keyword} {name} is released and never acquired."));
    }
}
