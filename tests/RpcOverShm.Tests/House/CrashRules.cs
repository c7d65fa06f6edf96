using Microsoft.CodeAnalysis.CSharp.Syntax;

namespace RpcOverShm.Tests.House;

/// <summary>
/// Every crash point has a "// CRASH name:" comment at its place, a constant of that name, and a test that names it.
/// </summary>
internal static class CrashRules
{
    private const string Keyword = "CRASH";
    private const string Points = "CrashPoint";

    /// <param name="files">The files of the product.</param>
    /// <param name="constants">The points by the names of their constants: "RingRead" to "ring-read".</param>
    /// <param name="tests">The file with the tests of the points.</param>
    public static IEnumerable<string> Check(
        IEnumerable<SourceFile> files, IReadOnlyDictionary<string, string> constants, SourceFile tests)
    {
        var reached = new HashSet<string>();
        var findings = new List<string>();
        foreach (SourceFile file in files)
        {
            var comments = new NamedComments(file, Keyword);
            foreach (InvocationExpressionSyntax call in
                file.Root.DescendantNodes().OfType<InvocationExpressionSyntax>())
            {
                if (call.Expression.ToString() != $"{Points}.Reach")
                {
                    continue;
                }

                string constant = call.ArgumentList.Arguments[0].ToString().Split('.')[^1];
                string? point = constants.GetValueOrDefault(constant);
                if (point is null || !comments.NamesFor(call).SequenceEqual([point]))
                {
                    findings.Add(file.At(call, $"{call} without a comment '{Keyword} {point ?? "?"}:'."));
                }

                reached.Add(constant);
            }

            findings.AddRange(comments.Unclaimed());
        }

        HashSet<string> tested = NamedIn(tests);
        return findings
            .Concat(constants.Keys.Except(reached).Select(constant => $"Nothing reaches {Points}.{constant}."))
            .Concat(
                constants.Keys.Except(tested).Select(constant => $"{tests.Name} does not test {Points}.{constant}."));
    }

    private static HashSet<string> NamedIn(SourceFile tests) =>
    [
        .. tests.Root.DescendantNodes().OfType<MemberAccessExpressionSyntax>()
            .Where(access => access.Expression.ToString() == Points)
            .Select(access => access.Name.Identifier.Text),
    ];
}
