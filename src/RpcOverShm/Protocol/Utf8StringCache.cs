using System.Text;

namespace RpcOverShm.Protocol;

/// <summary>Reads a short text without an allocation if it equals the last ASCII text read. Thread-safe.</summary>
internal sealed class Utf8StringCache
{
    // Limits the memory that a peer can make this process retain.
    private const int LongestKept = 64;

    private volatile string? _last;

    /// <summary>Reads UTF-8 text with a 16-bit length.</summary>
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
