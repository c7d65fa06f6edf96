namespace RpcOverShm.Soak;

/// <summary>The broken promises of a run: the number of each kind, and its first texts. Any thread adds.</summary>
internal sealed class Findings
{
    private const int MostTextsOfKind = 8;
    private const int MostCharacters = 3000;

    private readonly Lock _gate = new();
    private readonly SortedDictionary<string, int> _counts = new(StringComparer.Ordinal);
    private readonly List<string> _texts = [];

    public int Count
    {
        get
        {
            lock (_gate)
            {
                return _counts.Values.Sum();
            }
        }
    }

    public void Add(string kind, string text)
    {
        lock (_gate)
        {
            int count = _counts[kind] = _counts.GetValueOrDefault(kind) + 1;
            if (count <= MostTextsOfKind)
            {
                _texts.Add($"{kind}: {text[..Math.Min(MostCharacters, text.Length)]}");
                TestContext.Progress.WriteLine($"FOUND {_texts[^1]}");
            }
        }
    }

    public int CountOf(string kind)
    {
        lock (_gate)
        {
            return _counts.GetValueOrDefault(kind);
        }
    }

    public override string ToString()
    {
        lock (_gate)
        {
            IEnumerable<string> counts = _counts.Select(
                pair => string.Create(CultureInfo.InvariantCulture, $"{pair.Value} {pair.Key}"));
            return string.Join(Environment.NewLine, counts.Concat(_texts));
        }
    }
}
