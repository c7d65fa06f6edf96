using RpcOverShm.Diagnostics;

namespace RpcOverShm.Tests.Diagnostics;

public class PeerTextTests
{
    [TestCase("plain text, also grün and 日本 and 🙂", "plain text, also grün and 日本 and 🙂")]
    [TestCase("two\r\nlines", @"two\u000D\u000Alines")]
    [TestCase("\u001B[31mred", @"\u001B[31mred")]
    [TestCase("\u0085\u2028\u2029", @"\u0085\u2028\u2029", Description = "Other ends of lines.")]
    [TestCase("\u202Etxet", @"\u202Etxet", Description = "Reverses the text.")]
    [TestCase("\0\a\u007F", @"\u0000\u0007\u007F")]
    [TestCase(@"\u000A", @"\\u000A", Description = "A forged escape.")]
    [TestCase("", "")]
    public void Escape_OfText_LeavesNothingThatActs(string text, string escaped)
    {
        Assert.That(PeerText.Escape(text, 100), Is.EqualTo(escaped));
    }

    [TestCase(9, "123456789...")]
    [TestCase(10, "1234567890")]
    [TestCase(11, "1234567890")]
    public void Escape_OfLongText_CutsAndSaysSo(int maxLength, string expected)
    {
        Assert.That(PeerText.Escape("1234567890", maxLength), Is.EqualTo(expected));
    }
}
