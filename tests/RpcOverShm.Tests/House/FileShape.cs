using Microsoft.CodeAnalysis;
using Microsoft.CodeAnalysis.CSharp;
using Microsoft.CodeAnalysis.CSharp.Syntax;

namespace RpcOverShm.Tests.House;

/// <summary>
/// A file stands in the folder of its namespace and has the name of its first type. Small types that only this type
/// needs, such as an enum, may follow. Only a class of extensions may stand in the namespace of what it extends, which
/// <see cref="ApiRules"/> checks.
/// </summary>
internal static class FileShape
{
    public const int SmallTypeLines = 25;

    /// <summary>Checks a file of src, tests or perf: its path below that folder is its namespace.</summary>
    public static IEnumerable<string> Check(SourceFile file)
    {
        string expected = file.Folder[(file.Folder.IndexOf('/', StringComparison.Ordinal) + 1)..].Replace('/', '.');
        foreach (BaseNamespaceDeclarationSyntax declared in
            file.Root.DescendantNodes().OfType<BaseNamespaceDeclarationSyntax>())
        {
            if (declared.Name.ToString() != expected && !IsOfExtensions(file))
            {
                yield return file.At(declared, $"The namespace is {declared.Name}, the folder says {expected}.");
            }
        }

        MemberDeclarationSyntax[] types = [.. file.TopLevelTypes];
        if (types.Length > 0 && SourceFile.NameOf(types[0]) != file.Name.Split('.')[0])
        {
            yield return file.At(1, $"The first type is called {SourceFile.NameOf(types[0])}.");
        }

        foreach (MemberDeclarationSyntax type in types.Skip(1).Where(type => type is not EnumDeclarationSyntax))
        {
            int lines = type.GetText().Lines.Count;
            if (lines > SmallTypeLines)
            {
                yield return file.At(type, $"{SourceFile.NameOf(type)} has {lines} lines; it needs a file of its own.");
            }
        }
    }

    private static bool IsOfExtensions(SourceFile file) => file.TopLevelTypes.Any()
        && file.TopLevelTypes.All(type => type.Modifiers.Any(SyntaxKind.PublicKeyword)
            && type.DescendantNodes().OfType<ParameterSyntax>().Any(one => one.Modifiers.Any(SyntaxKind.ThisKeyword)));
}
