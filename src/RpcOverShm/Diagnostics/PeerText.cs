using System.Globalization;
using System.Text;

namespace RpcOverShm.Diagnostics;

/// <summary>
/// Makes text that a peer has chosen fit for a log or an exception: without characters that start a line, colour a
/// terminal or reverse the text, and of limited length.
/// </summary>
internal static class PeerText
{
    /// <summary>The maximum number of characters of a sentence of the peer, such as the reason of a refusal.</summary>
    public const int LongestSentence = 500;

    /// <summary>The maximum number of characters of a name that the peer has chosen, such as a method's.</summary>
    public const int LongestName = 200;

    /// <summary>
    /// Returns the text with each such character as <c>\u001B</c>, and with "..." if it was cut. A backslash is
    /// doubled, so that a peer cannot write such a sequence itself.
    /// </summary>
    public static string Escape(string text, int maxLength)
    {
        // Escaping makes a text longer. The cut comes first, so the work is bounded too.
        bool isCut = text.Length > maxLength;
        var escaped = new StringBuilder(Math.Min(text.Length, maxLength) + 3);
        foreach (char c in text.AsSpan(0, isCut ? maxLength : text.Length))
        {
            if (c == '\\')
            {
                escaped.Append(@"\\");
            }
            else if (IsUnfit(c))
            {
                escaped.Append(CultureInfo.InvariantCulture, $"\\u{(int)c:X4}");
            }
            else
            {
                escaped.Append(c);
            }
        }

        return escaped.Append(isCut ? "..." : "").ToString();
    }

    // Surrogates stay: a pair of them is an ordinary character, and a single one prints as a replacement.
    private static bool IsUnfit(char c) => char.GetUnicodeCategory(c)
        is UnicodeCategory.Control
        or UnicodeCategory.Format
        or UnicodeCategory.LineSeparator
        or UnicodeCategory.ParagraphSeparator;
}
