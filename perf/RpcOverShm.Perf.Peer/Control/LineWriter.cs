using System.Text;

namespace RpcOverShm.Perf.Peer.Control;

/// <summary>
/// Writes a line of words: numbers, and texts with their spaces escaped. It is this simple because it runs in the
/// measured processes: a serialiser has hundreds of methods to compile, in several tiers, while the clock runs.
/// </summary>
internal sealed class LineWriter(string verb)
{
    private readonly StringBuilder _line = new(verb);

    public LineWriter Add(long number)
    {
        _line.Append(' ').Append(CultureInfo.InvariantCulture, $"{number}");
        return this;
    }

    public LineWriter Add(string text)
    {
        _line.Append(' ').Append(Uri.EscapeDataString(text));
        return this;
    }

    public override string ToString() => _line.ToString();
}

/// <summary>
/// Reads the words of a <see cref="LineWriter"/>. A missing or wrong one throws <see cref="FormatException"/>.
/// </summary>
internal sealed class LineReader(string line)
{
    private int _position;

    public long NextNumber() => long.Parse(NextWord(), CultureInfo.InvariantCulture);

    public string NextText() => Uri.UnescapeDataString(NextWord().ToString());

    private ReadOnlySpan<char> NextWord()
    {
        if (_position > line.Length)
        {
            throw new FormatException($"The line ends too early: '{line}'.");
        }

        int end = line.IndexOf(' ', _position);
        end = end < 0 ? line.Length : end;
        ReadOnlySpan<char> word = line.AsSpan(_position, end - _position);
        _position = end + 1;
        return word;
    }
}
