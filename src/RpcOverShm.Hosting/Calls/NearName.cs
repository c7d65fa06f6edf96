namespace RpcOverShm.Hosting.Calls;

/// <summary>Finds the name that was meant by a misspelt one.</summary>
internal static class NearName
{
    // Of three letters one may be wrong.
    private const int LettersForEachMistake = 3;

    /// <summary>Returns the end of a sentence that names the nearest of some names, or none if all are far.</summary>
    public static string Suggest(string misspelt, IEnumerable<string> names)
    {
        int most = Math.Max(1, misspelt.Length / LettersForEachMistake);
        string? nearest = names.MinBy(name => Distance(misspelt, name));
        return nearest is not null && Distance(misspelt, nearest) <= most
            ? $"; did you mean '{nearest}'?"
            : ".";
    }

    // Levenshtein's: the letters to add, to remove and to replace, row by row of the usual table.
    private static int Distance(string from, string to)
    {
        int[] row = [.. Enumerable.Range(0, to.Length + 1)];
        for (int i = 1; i <= from.Length; i++)
        {
            int diagonal = row[0];
            row[0] = i;
            for (int j = 1; j <= to.Length; j++)
            {
                bool isSame = char.ToUpperInvariant(from[i - 1]) == char.ToUpperInvariant(to[j - 1]);
                int replaced = diagonal + (isSame ? 0 : 1);
                diagonal = row[j];
                row[j] = Math.Min(replaced, 1 + Math.Min(row[j], row[j - 1]));
            }
        }

        return row[^1];
    }
}
