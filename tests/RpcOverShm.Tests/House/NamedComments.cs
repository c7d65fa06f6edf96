using System.Text.RegularExpressions;
using Microsoft.CodeAnalysis;
using Microsoft.CodeAnalysis.CSharp;
using Microsoft.CodeAnalysis.CSharp.Syntax;

namespace RpcOverShm.Tests.House;

/// <summary>
/// Finds comments of the form "// KEYWORD name: text" and the code that they belong to. A comment stands on the lines
/// before a statement or member, or at the end of the statement's line.
/// </summary>
internal sealed partial class NamedComments(SourceFile file, string keyword)
{
    private readonly HashSet<int> _claimed = [];

    /// <summary>Returns the names that comments give to this node, and marks these comments as claimed.</summary>
    public IReadOnlyList<string> NamesFor(SyntaxNode node)
    {
        SyntaxNode place = node.AncestorsAndSelf().First(ancestor =>
            ancestor is (StatementSyntax and not BlockSyntax) or MemberDeclarationSyntax or AccessorDeclarationSyntax);
        SyntaxTrivia[] comments = [.. place.GetLeadingTrivia(), .. place.GetTrailingTrivia()];
        var names = new List<string>();
        foreach (SyntaxTrivia comment in comments)
        {
            if (NameIn(comment) is { } name)
            {
                names.Add(name);
                _claimed.Add(comment.SpanStart);
            }
        }

        return names;
    }

    /// <summary>Comments that no node has claimed.</summary>
    public IEnumerable<string> Unclaimed() =>
        from comment in file.Root.DescendantTrivia()
        let name = NameIn(comment)
        where name is not null && !_claimed.Contains(comment.SpanStart)
        let line = comment.GetLocation().GetLineSpan().StartLinePosition.Line + 1
        select file.At(line, $"{keyword} {name} stands at nothing of the kind.");

    private string? NameIn(SyntaxTrivia trivia)
    {
        if (!trivia.IsKind(SyntaxKind.SingleLineCommentTrivia))
        {
            return null;
        }

        Match match = Form().Match(trivia.ToString());
        return match.Success && match.Groups[1].Value == keyword ? match.Groups[2].Value : null;
    }

    [GeneratedRegex("^// ([A-Z]+) ([a-z][a-z0-9-]*): .")]
    private static partial Regex Form();
}
