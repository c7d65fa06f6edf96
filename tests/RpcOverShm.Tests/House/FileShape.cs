using Microsoft.CodeAnalysis.CSharp.Syntax;

namespace RpcOverShm.Tests.House;

/// <summary>A file stands where its namespace says, holds one type, and has that type's name.</summary>
internal static class FileShape
{
    /// <summary>Checks a file of src, tests or perf: what follows the first folder is the namespace.</summary>
    public static IEnumerable<string> Check(SourceFile file)
    {
        string expected = file.Folder[(file.Folder.IndexOf('/', StringComparison.Ordinal) + 1)..].Replace('/', '.');
        foreach (BaseNamespaceDeclarationSyntax declared in
            file.Root.DescendantNodes().OfType<BaseNamespaceDeclarationSyntax>())
        {
            if (declared.Name.ToString() != expected)
            {
                yield return file.At(declared, $"The namespace is {declared.Name}, the folder says {expected}.");
            }
        }

        string[] types = [.. file.TopLevelTypes.Select(SourceFile.NameOf)];
        if (types.Length > 1)
        {
            yield return file.At(1, $"Several types in one file: {string.Join(", ", types)}.");
        }
        else if (types.Length == 1 && types[0] != file.Name.Split('.')[0])
        {
            yield return file.At(1, $"The type is called {types[0]}.");
        }
    }
}
