namespace RpcOverShm.Perf.Peer.Control;

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
