namespace RpcOverShm.TestRunner;

/// <summary>
/// The tests that must fail, each with its reason. One that passes, and one that no longer exists, is a failure of the
/// list.
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
    public KnownFailure? Find(string fullName)
    {
        KnownFailure? found = all.FirstOrDefault(entry => entry.Matches(fullName));
        if (found is not null)
        {
            found.Count++;
        }

        return found;
    }

    /// <summary>The entries of which no test was run.</summary>
    public IEnumerable<KnownFailure> Unused => all.Where(entry => entry.Count == 0);

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

    /// <summary>How many tests of this entry were run.</summary>
    public int Count { get; set; }

    public bool Matches(string fullName) => name.EndsWith('*')
        ? fullName.StartsWith(name[..^1], StringComparison.Ordinal)
        : fullName == name;
}
