using MessagePack.Tests.Fakes;

namespace MessagePack.Tests.BadInput;

/// <summary>Bytes that are no text are replaced, as .NET does everywhere.</summary>
public class TextTests
{
    [TestCase("a1ff", "\ufffd")]
    [TestCase("a361ff62", "a\ufffdb")]
    [TestCase("a2c080", "\ufffd\ufffd")]
    [TestCase("a2e282", "\ufffd")]
    [TestCase("a3eda080", "\ufffd\ufffd\ufffd")]
    [TestCase("a4f4908080", "\ufffd\ufffd\ufffd\ufffd")]
    [TestCase("a161", "a")]
    public void Text_ThatIsNone_IsReplaced(string hex, string expected)
    {
        Message.AssertReads(hex, expected, (ref reader) => reader.ReadString());
        Assert.That(Message.Deserialized<string>(hex), Is.EqualTo(expected));
    }
}
