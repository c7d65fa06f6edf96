namespace RpcOverShm.Tool.Output;

/// <summary>The names that somebody may have meant with one that there is not.</summary>
internal static class NearestNames
{
    private const int MaxTold = 3;
    private const int MaxListed = 12;

    /// <summary>Returns a sentence with the names that are like this one, or with all if none is.</summary>
    /// <param name="name">The name that there is not.</param>
    /// <param name="names">The names that there are; at least one.</param>
    /// <param name="all">The words before the list of all, such as "Its fields are".</param>
    public static string Advice(string name, IReadOnlyCollection<string> names, string all)
    {
        string[] near = [.. Find(name, names)];
        if (near.Length > 0)
        {
            return $"Did you mean {string.Join(" or ", near.Select(one => $"'{one}'"))}?";
        }

        string more = names.Count > MaxListed ? $" and {names.Count - MaxListed} more" : "";
        return $"{all} {string.Join(", ", names.Take(MaxListed))}{more}.";
    }

    /// <summary>Returns the few names that are nearest, best first: at most a third of the letters are wrong.</summary>
    public static IEnumerable<string> Find(string name, IEnumerable<string> names) => names
        .Select(candidate => (Name: candidate, Distance: Distance(name, candidate)))
        .Where(one => one.Distance <= (Math.Max(name.Length, one.Name.Length) + 2) / 3)
        .OrderBy(one => one.Distance).ThenBy(one => one.Name, StringComparer.Ordinal)
        .Take(MaxTold).Select(one => one.Name);

    // The letters to change, insert or remove, whatever their case.
    private static int Distance(string left, string right)
    {
        int[] row = [.. Enumerable.Range(0, right.Length + 1)];
        foreach ((int i, char letter) in left.Index())
        {
            int diagonal = row[0];
            row[0] = i + 1;
            foreach ((int j, char other) in right.Index())
            {
                int change = diagonal + (char.ToLowerInvariant(letter) == char.ToLowerInvariant(other) ? 0 : 1);
                diagonal = row[j + 1];
                row[j + 1] = Math.Min(change, 1 + Math.Min(row[j], row[j + 1]));
            }
        }

        return row[^1];
    }
}
