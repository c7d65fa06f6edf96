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
