using System.Reflection;
using System.Runtime.Loader;
using Microsoft.CodeAnalysis;
using Microsoft.CodeAnalysis.CSharp;
using Microsoft.CodeAnalysis.Emit;
using RpcOverShm.Explorer.Model;

namespace RpcOverShm.Explorer.Mutations;

/// <summary>
/// Compiles a copy of this assembly with one file changed, and searches a scenario in it. The sources are resources of
/// this assembly, so they are those that it was built from.
/// </summary>
internal static class MutantCompiler
{
    private const string Prefix = "Source/";

    // The usings that the SDK adds to every file.
    private const string ImplicitUsings =
        """
        global using System;
        global using System.Collections.Generic;
        global using System.IO;
        global using System.Linq;
        global using System.Threading;
        global using System.Threading.Tasks;
        """;

    private static readonly CSharpParseOptions s_options = new(LanguageVersion.Latest);
    private static readonly Lazy<CSharpCompilation> s_original = new(MakeOriginal);

    /// <summary>Searches the mutant's scenario in the changed copy; see <see cref="SearchEntry.Find"/>.</summary>
    public static string? Find(Mutant mutant, long bound)
    {
        var context = new AssemblyLoadContext(mutant.Rule, isCollectible: true);
        try
        {
            using Stream image = Compile(mutant);
            MethodInfo find = context.LoadFromStream(image)
                .GetType(typeof(SearchEntry).FullName!)!
                .GetMethod(nameof(SearchEntry.Find))!;
            return (string?)find.Invoke(null, [mutant.FoundBy, (int)mutant.Order, bound]);
        }
        finally
        {
            context.Unload();
        }
    }

    private static MemoryStream Compile(Mutant mutant)
    {
        CSharpCompilation changed = Change(s_original.Value, mutant.File, mutant.From, mutant.To);
        if (mutant.Limit is { } limit)
        {
            changed = Change(changed, limit.File, limit.From, limit.To);
        }

        var image = new MemoryStream();
        EmitResult result = changed.Emit(image);
        if (!result.Success)
        {
            throw new InvalidOperationException(
                string.Join('\n', result.Diagnostics.Where(item => item.Severity == DiagnosticSeverity.Error)));
        }

        image.Position = 0;
        return image;
    }

    private static CSharpCompilation Change(CSharpCompilation compilation, string file, string from, string to)
    {
        SyntaxTree tree = compilation.SyntaxTrees.Single(tree => tree.FilePath == file);
        string text = tree.GetText().ToString();
        int at = text.IndexOf(from, StringComparison.Ordinal);
        if (at < 0 || text.IndexOf(from, at + 1, StringComparison.Ordinal) >= 0)
        {
            throw new InvalidOperationException(
                $"'{from}' does not occur exactly once in {file}: adapt the mutant to the changed source.");
        }

        string changed = text[..at] + to + text[(at + from.Length)..];
        return compilation.ReplaceSyntaxTree(tree, CSharpSyntaxTree.ParseText(changed, s_options, file));
    }

    private static CSharpCompilation MakeOriginal()
    {
        var self = typeof(MutantCompiler).Assembly;
        IEnumerable<SyntaxTree> trees =
            from name in self.GetManifestResourceNames()
            where name.StartsWith(Prefix, StringComparison.Ordinal)
            let file = name[Prefix.Length..]
            where !file.EndsWith("Tests.cs", StringComparison.Ordinal)
                && !file.StartsWith("Mutant", StringComparison.Ordinal)
            select CSharpSyntaxTree.ParseText(Read(self, name), s_options, file);
        string[] platform = ((string)AppContext.GetData("TRUSTED_PLATFORM_ASSEMBLIES")!).Split(Path.PathSeparator);
        return CSharpCompilation.Create(
            "RpcOverShm.Explorer.Mutant",
            trees.Append(CSharpSyntaxTree.ParseText(ImplicitUsings, s_options)),
            platform.Where(path => Path.GetFileName(path).StartsWith("System.", StringComparison.Ordinal))
                .Select(path => MetadataReference.CreateFromFile(path)),
            new CSharpCompilationOptions(
                OutputKind.DynamicallyLinkedLibrary,
                optimizationLevel: OptimizationLevel.Release,
                allowUnsafe: true,
                nullableContextOptions: NullableContextOptions.Enable));
    }

    private static string Read(Assembly assembly, string name)
    {
        using var reader = new StreamReader(assembly.GetManifestResourceStream(name)!);
        return reader.ReadToEnd();
    }
}
