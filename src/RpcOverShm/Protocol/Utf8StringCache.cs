using System.Text;

namespace RpcOverShm.Protocol;

/// <summary>
/// Reads a short text that most often is the one that was read last, and then makes no new string of it. Any thread
/// may use it.
/// </summary>
internal sealed class Utf8StringCache
{
    // What a peer may make others keep.
    private const int LongestKept = 64;

    private volatile string? _last;

    /// <summary>UTF-8 with a length of 16 bits.</summary>
    public string Read(ref WireReader from)
    {
        ReadOnlySpan<byte> bytes = from.ReadBytes(from.ReadUInt16());
        if (_last is { } last && Ascii.Equals(bytes, last))
        {
            return last;
        }

        string text = Encoding.UTF8.GetString(bytes);
        if (text.Length <= LongestKept)
        {
            _last = text;
        }

        return text;
    }
}
