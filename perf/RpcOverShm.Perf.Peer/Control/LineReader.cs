namespace RpcOverShm.Perf.Peer.Control;

/// <summary>Reads what <see cref="LineWriter"/> has written, word by word.</summary>
internal sealed class LineReader(string line)
{
    private int _position;

    /// <exception cref="FormatException">The next word is no number, or there is none.</exception>
    public long NextNumber() => long.Parse(NextWord(), CultureInfo.InvariantCulture);

    /// <exception cref="FormatException">There is no further word.</exception>
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
