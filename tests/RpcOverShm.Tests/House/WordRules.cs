using System.Text.RegularExpressions;
using Microsoft.CodeAnalysis;
using Microsoft.CodeAnalysis.CSharp;
using Microsoft.CodeAnalysis.CSharp.Syntax;

namespace RpcOverShm.Tests.House;

/// <summary>
/// Forbidden calls and words. In the product: sleeping, printing, the wall clock, keeping the contexts of callers,
/// and locks that an interrupt leaves. Everywhere: regions, promises and riddles.
/// </summary>
internal static partial class WordRules
{
    private static readonly string[] s_clockTypes = ["DateTime", "DateTimeOffset"];
    private static readonly string[] s_clockMembers = ["Now", "UtcNow", "Today"];

    // Concatenated, so that a search for these words does not find this file.
    private static readonly string[] s_promises = ["TO" + "DO", "HA" + "CK", "FIX" + "ME"];

    private static readonly string s_nobody = "who" + "ever";

    // They keep the ExecutionContext of their caller, but for the last: those of a token.
    private static readonly string[] s_keepers =
        ["Task.Run", "Factory.StartNew", "ThreadPool.QueueUserWorkItem", "ThreadPool.RegisterWaitForSingleObject"];

    private static readonly string[] s_keepingMembers = ["ContinueWith", "Register"];

    private static readonly string[] s_emptyNames = ["Manager", "Helper", "Helpers", "Util", "Utils", "Impl", "Base"];

    /// <summary>Sleeping, printing, and reading the wall clock without TimeProvider.</summary>
    public static IEnumerable<string> ForbiddenCalls(SourceFile file) =>
        from access in file.Root.DescendantNodes().OfType<MemberAccessExpressionSyntax>()
        let type = access.Expression.ToString().Split('.')[^1]
        let member = access.Name.Identifier.Text
        let why = Why(type, member)
        where why is not null
        select file.At(access, $"{type}.{member}: {why}");

    /// <summary>
    /// Questions which system this is, outside of the one place that asks, and imports of system functions outside of
    /// the rooms of the systems.
    /// </summary>
    public static IEnumerable<string> SystemsElsewhere(SourceFile file)
    {
        if (file.Path == "src/RpcOverShm/SystemChoice.cs")
        {
            return [];
        }

        bool isSystem = file.Folder is "src/RpcOverShm/Linux" or "src/RpcOverShm/Windows";
        return
        [
            .. from access in file.Root.DescendantNodes().OfType<MemberAccessExpressionSyntax>()
               where access.Expression.ToString().Split('.')[^1] is "OperatingSystem"
                   || access.ToString() is "Environment.OSVersion" or "RuntimeInformation.IsOSPlatform"
               select file.At(access, $"{access}: only SystemChoice asks which system this is."),
            .. from attribute in file.Root.DescendantNodes().OfType<AttributeSyntax>()
               where !isSystem && attribute.Name.ToString() is "LibraryImport" or "DllImport"
               select file.At(attribute, "Only the rooms of the systems import their functions."),
        ];
    }

    /// <summary>Static usings and aliases that would hide calls from <see cref="ForbiddenCalls"/>.</summary>
    public static IEnumerable<string> HiddenCalls(SourceFile file) =>
        from directive in file.Root.Usings
        where directive.StaticKeyword.IsKind(SyntaxKind.StaticKeyword) || directive.Alias is not null
        where directive.NamespaceOrType.ToString() is "System.Console" or "System.Threading.Thread" or "System.DateTime"
        select file.At(directive, "Hides what is called.");

    /// <summary>
    /// Timers, threads, work items, continuations and registrations that keep the ExecutionContext of their creator,
    /// with all that its AsyncLocals refer to. They may do so if the flow is suppressed, or if the creator waits.
    /// </summary>
    public static IEnumerable<string> KeptContexts(SourceFile file) =>
        from node in file.Root.DescendantNodes()
        let what = KeptBy(node)
        where what is not null
        where !node.Ancestors().OfType<UsingStatementSyntax>().Any(
            scope => scope.Expression?.ToString() == "ExecutionContext.SuppressFlow()")
        select file.At(
            node,
            $"{what} keeps the context of its caller: use BackgroundTimer, BackgroundThread, a method named Unsafe..., "
            + "or suppress the flow.");

    /// <summary>Locks of .NET. An interrupt would leave code half done that runs on threads of users.</summary>
    public static IEnumerable<string> InterruptibleLocks(SourceFile file) =>
        from node in file.Root.DescendantNodes()
        where node is LockStatementSyntax || (node is MemberAccessExpressionSyntax access
            && access.ToString() is var call
            && (call.StartsWith("Monitor.", StringComparison.Ordinal)
                || call == "ThreadPool.UnsafeQueueUserWorkItem"))
        select file.At(node, "An interrupt of the thread ends this: use UninterruptibleLock or PoolWork.");

    public static IEnumerable<string> Regions(SourceFile file) =>
        from trivia in file.Root.DescendantTrivia()
        where trivia.IsKind(SyntaxKind.RegionDirectiveTrivia)
        select file.At(Line(trivia), "A region.");

    /// <summary>Comments that postpone something without an issue's number, such as "(#12)" after the word.</summary>
    public static IEnumerable<string> Promises(SourceFile file) =>
        from trivia in file.Root.DescendantTrivia()
        where IsComment(trivia)
        let text = trivia.ToFullString()
        from word in s_promises
        let at = text.IndexOf(word, StringComparison.Ordinal)
        where at >= 0 && !text[(at + word.Length)..].StartsWith("(#", StringComparison.Ordinal)
        select file.At(Line(trivia), $"{word} without an issue.");

    /// <summary>Names of types that carry no meaning.</summary>
    public static IEnumerable<string> EmptyNames(SourceFile file) =>
        from type in file.Root.DescendantNodes().OfType<BaseTypeDeclarationSyntax>()
        from word in s_emptyNames
        where type.Identifier.Text.EndsWith(word, StringComparison.Ordinal)
        select file.At(type, $"{type.Identifier.Text}: '{word}' says nothing.");

    /// <summary>Summaries that begin with a question word instead of naming their subject.</summary>
    public static IEnumerable<string> Openings(SourceFile file) =>
        from Match match in Opening().Matches(file.Text)
        let line = file.Text.AsSpan(0, match.Groups["word"].Index).Count('\n') + 1
        select file.At(line, $"A summary begins with '{match.Groups["word"].Value}'; begin with a noun or a verb.");

    /// <summary>Texts that do not name the caller, thread or peer that they mean.</summary>
    public static IEnumerable<string> Nobodies(SourceFile file) =>
        from line in file.Lines.Index()
        where line.Item.Contains(s_nobody, StringComparison.OrdinalIgnoreCase)
        select file.At(line.Index + 1, $"'{s_nobody}': name the caller, the thread, the peer.");

    private static string? Why(string type, string member) => (type, member) switch
    {
        ("Thread", "Sleep") => "sleep on a signal, a latch or a lock.",
        ("Console", _) => "a library does not print.",
        _ when s_clockTypes.Contains(type) && s_clockMembers.Contains(member) => "time comes from TimeProvider.",
        _ => null,
    };

    private static string? KeptBy(SyntaxNode node) => node switch
    {
        ObjectCreationExpressionSyntax { Type: IdentifierNameSyntax { Identifier.Text: "Timer" or "Thread" } type }
            when NextCall(node) != "UnsafeStart" => $"new {type}",
        InvocationExpressionSyntax { Expression: MemberAccessExpressionSyntax called }
            when IsKeeper(called) && NextCall(NextCall(node) == "ConfigureAwait" ? node.Parent!.Parent! : node)
                != "GetAwaiter" => called.ToString(),
        _ => null,
    };

    private static string? NextCall(SyntaxNode node) =>
        (node.Parent as MemberAccessExpressionSyntax)?.Name.Identifier.Text;

    private static bool IsKeeper(MemberAccessExpressionSyntax called) =>
        s_keepingMembers.Contains(called.Name.Identifier.Text)
        || s_keepers.Contains($"{called.Expression.ToString().Split('.')[^1]}.{called.Name.Identifier.Text}");

    private static bool IsComment(SyntaxTrivia trivia) => trivia.Kind() is
        SyntaxKind.SingleLineCommentTrivia or SyntaxKind.MultiLineCommentTrivia
        or SyntaxKind.SingleLineDocumentationCommentTrivia or SyntaxKind.MultiLineDocumentationCommentTrivia;

    private static int Line(SyntaxTrivia trivia) => trivia.GetLocation().GetLineSpan().StartLinePosition.Line + 1;

    [GeneratedRegex(@"///\s*<summary>\s*(?:///\s*)?(?<word>What|Who|Whose|How)\b")]
    private static partial Regex Opening();
}
