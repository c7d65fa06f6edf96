namespace RpcOverShm.TestRunner;

/// <summary>
/// The tests that must fail, each with its reason. One that passes, and one that no longer exists, counts as failed, so
/// that the list stays true.
/// </summary>
internal sealed class KnownFailures(IReadOnlyList<KnownFailure> all)
{
    private const string Separator = " # ";

    /// <exception cref="FormatException">A line has no reason.</exception>
    public static KnownFailures Read(FileInfo file) => new(
    [
        .. File.ReadLines(file.FullName)
            .Select(line => line.Trim())
            .Where(line => line.Length > 0 && line[0] != '#')
            .Select(line => Parse(line, file.Name)),
    ]);

    /// <summary>Returns the entry for a test, or null.</summary>
    public KnownFailure? Find(string fullName) => all.FirstOrDefault(entry => entry.Matches(fullName));

    /// <summary>Returns the entries that begin with the name of an assembly and name none of its tests.</summary>
    public IEnumerable<KnownFailure> WithoutTest(string assembly, IReadOnlyCollection<string> tests) => all
        .Where(entry => entry.Name.StartsWith(assembly + ".", StringComparison.Ordinal))
        .Where(entry => !tests.Any(entry.Matches));

    private static KnownFailure Parse(string line, string file)
    {
        int end = line.IndexOf(Separator, StringComparison.Ordinal);
        return end > 0
            ? new KnownFailure(line[..end].TrimEnd(), line[(end + Separator.Length)..].Trim())
            : throw new FormatException($"{file} has the line '{line}'. A line is NAME # REASON, or begins with #.");
    }
}

/// <summary>A test, or all those whose names begin alike.</summary>
internal sealed class KnownFailure(string name, string reason)
{
    public string Name => name;

    public string Reason => reason;

    public bool Matches(string fullName) => name.EndsWith('*')
        ? fullName.StartsWith(name[..^1], StringComparison.Ordinal)
        : fullName == name;
}
