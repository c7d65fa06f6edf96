namespace RpcOverShm.Tests.House;

/// <summary>
/// The files of the repository on disk, found from the directory of the tests. Build and test output is left out, as in
/// .gitignore, and so is the corpus of the fuzzing.
/// </summary>
internal static class Repository
{
    private static readonly string[] s_leftOut =
    [
        "bin", "obj", "artifacts", "TestResults", "BenchmarkDotNet.Artifacts", "Corpus", ".git", ".vs", ".vscode",
        ".idea",
    ];

    private static readonly Lazy<IReadOnlyList<SourceFile>> s_texts = new(ReadTexts);

    public static string Root { get; } = FindRoot();

    /// <summary>All text files.</summary>
    public static IReadOnlyList<SourceFile> Texts => s_texts.Value;

    /// <summary>The pages; the compiler's own lists of analyzer rules are none.</summary>
    public static IEnumerable<SourceFile> Documents => Texts.Where(file =>
        file.Name.EndsWith(".md", StringComparison.Ordinal)
        && !file.Name.StartsWith("AnalyzerReleases.", StringComparison.Ordinal));

    /// <summary>
    /// Returns the C# files in these top-level folders, without those that a template makes for users: they print, and
    /// their namespaces are named later.
    /// </summary>
    public static IEnumerable<SourceFile> Sources(params string[] folders) => Texts.Where(file =>
        file.Name.EndsWith(".cs", StringComparison.Ordinal)
        && !file.Path.Contains("/content/", StringComparison.Ordinal)
        && Array.Exists(folders, folder => file.Path.StartsWith(folder + "/", StringComparison.Ordinal)));

    public static SourceFile Read(string path) => Texts.Single(file => file.Path == path);

    public static bool Exists(string path) => Path.Exists(Path.Combine(Root, path));

    public static string FullPath(string path) => Path.Combine(Root, path);

    private static string FindRoot()
    {
        for (DirectoryInfo? folder = new(AppContext.BaseDirectory); folder is not null; folder = folder.Parent)
        {
            if (File.Exists(Path.Combine(folder.FullName, "RpcOverShm.sln")))
            {
                return folder.FullName;
            }
        }

        throw new DirectoryNotFoundException($"No folder above '{AppContext.BaseDirectory}' holds RpcOverShm.sln.");
    }

    private static SourceFile[] ReadTexts() =>
    [
        .. FilesBelow(new DirectoryInfo(Root))
            .Select(path => (Path: Path.GetRelativePath(Root, path).Replace('\\', '/'), Text: File.ReadAllText(path)))
            .Where(file => !file.Text.Contains('\0', StringComparison.Ordinal))
            .OrderBy(file => file.Path, StringComparer.Ordinal)
            .Select(file => new SourceFile(file.Path, file.Text)),
    ];

    // In a worktree .git is a file.
    private static IEnumerable<string> FilesBelow(DirectoryInfo folder) =>
        folder.EnumerateFiles()
            .Where(file => file.Name != ".git" && !file.Name.StartsWith("latest.", StringComparison.Ordinal))
            .Select(file => file.FullName)
            .Concat(folder.EnumerateDirectories()
                .Where(child => !s_leftOut.Contains(child.Name) && child.LinkTarget is null)
                .SelectMany(FilesBelow));
}

/// <summary>Joins the findings of rules into one message, one line each.</summary>
internal static class Findings
{
    public static void AssertNone(IEnumerable<string> findings)
    {
        string[] all = [.. findings];
        Assert.That(all, Is.Empty, string.Join(Environment.NewLine, all.Prepend($"{all.Length} findings:")));
    }
}
