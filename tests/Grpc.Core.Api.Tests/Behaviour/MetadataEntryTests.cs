using Grpc.Core.Api.Tests.Fakes;

namespace Grpc.Core.Api.Tests.Behaviour;

public class MetadataEntryTests
{
    private const string InvalidKey = "Metadata entry key not valid. Keys can only contain lowercase alphanumeric "
        + "characters, underscores, hyphens and dots.";

    [TestCase("key", "key")]
    [TestCase("Key-Of_Many.Kinds-09", "key-of_many.kinds-09")]
    [TestCase("ABCDEFGHIJKLMNOPQRSTUVWXYZ", "abcdefghijklmnopqrstuvwxyz")]
    [TestCase("", "")]
    public void Key_OfTextEntry_IsLowerCased(string key, string expected)
    {
        Assert.That(new Metadata.Entry(key, "value").Key, Is.EqualTo(expected));
    }

    [TestCase("Trace-Bin", "trace-bin")]
    [TestCase("-bin", "-bin")]
    public void Key_OfBinaryEntry_IsLowerCased(string key, string expected)
    {
        Assert.That(new Metadata.Entry(key, []).Key, Is.EqualTo(expected));
    }

    [TestCase("a b")]
    [TestCase("a:b")]
    [TestCase(":path")]
    [TestCase("a/b")]
    [TestCase("a@b")]
    [TestCase("a\n")]
    [TestCase("a\0")]
    [TestCase("é")]
    [TestCase("\u212A")] // The Kelvin sign lower-cases to an ordinary k, and is still not a letter of a key.
    public void Constructor_InvalidKey_ThrowsArgument(string key)
    {
        Assert.That(
            () => new Metadata.Entry(key, "value"),
            Throws.TypeOf<ArgumentException>().With.Message.EqualTo(InvalidKey));
        Assert.That(
            () => new Metadata.Entry(key + "-bin", [1]),
            Throws.TypeOf<ArgumentException>().With.Message.EqualTo(InvalidKey));
    }

    [Test]
    public void Constructor_NullKey_ThrowsArgumentNull()
    {
        Assert.That(() => new Metadata.Entry(null!, "value"), Errors.NullArgument("key"));
        Assert.That(() => new Metadata.Entry(null!, [1]), Errors.NullArgument("key"));
    }

    [Test]
    public void Constructor_NullValue_ThrowsArgumentNull()
    {
        Assert.That(() => new Metadata.Entry("key", (string)null!), Errors.NullArgument("value"));
        Assert.That(() => new Metadata.Entry("key-bin", (byte[])null!), Errors.NullArgument("valueBytes"));
    }

    [TestCase("key-bin")]
    [TestCase("KEY-BIN")]
    public void Constructor_TextForBinaryKey_ThrowsArgument(string key)
    {
        Assert.That(
            () => new Metadata.Entry(key, "value"),
            Throws.TypeOf<ArgumentException>().With.Message.EqualTo(
                "Key for ASCII valued metadata entry cannot have suffix indicating binary value."));
    }

    [TestCase("key")]
    [TestCase("bin")]
    [TestCase("key-bin2")]
    [TestCase("key_bin")]
    public void Constructor_BytesForTextKey_ThrowsArgument(string key)
    {
        Assert.That(
            () => new Metadata.Entry(key, [1]),
            Throws.TypeOf<ArgumentException>().With.Message.EqualTo(
                "Key for binary valued metadata entry needs to have '-bin' suffix indicating binary value."));
    }

    [Test]
    public void Constructor_InvalidKeyAndNullValue_ComplainsOfTheKeyFirst()
    {
        Assert.That(() => new Metadata.Entry("a b", (string)null!), Throws.TypeOf<ArgumentException>());
        Assert.That(() => new Metadata.Entry("key", (byte[])null!), Throws.TypeOf<ArgumentException>());
    }

    [Test]
    public void Value_OfTextEntry_IsAsGiven()
    {
        // Values are not checked: text beyond ASCII is the transport's trouble.
        Assert.That(new Metadata.Entry("key", "Größe ").Value, Is.EqualTo("Größe "));
    }

    [Test]
    public void Value_OfBinaryEntry_ThrowsInvalidOperation()
    {
        var entry = new Metadata.Entry("key-bin", [1]);

        Assert.That(
            () => entry.Value,
            Throws.TypeOf<InvalidOperationException>().With.Message.EqualTo(
                "Cannot access string value of a binary metadata entry"));
    }

    [Test]
    public void ValueBytes_OfTextEntry_AreAscii()
    {
        Assert.That(new Metadata.Entry("key", "aé").ValueBytes, Is.EqualTo("a?"u8.ToArray()));
    }

    [Test]
    public void ValueBytes_SourceChanged_StayAsTheyWere()
    {
        byte[] source = [1, 2];
        var entry = new Metadata.Entry("key-bin", source);

        source[0] = 9;

        Assert.That(entry.ValueBytes, Is.EqualTo(new byte[] { 1, 2 }));
    }

    [Test]
    public void ValueBytes_ResultChanged_StayAsTheyWere()
    {
        var entry = new Metadata.Entry("key-bin", [1, 2]);

        entry.ValueBytes[0] = 9;

        Assert.That(entry.ValueBytes, Is.EqualTo(new byte[] { 1, 2 }));
    }

    [Test]
    public void IsBinary_ByKind_TellsThemApart()
    {
        Assert.That(new Metadata.Entry("key-bin", []).IsBinary);
        Assert.That(new Metadata.Entry("key", "").IsBinary, Is.False);
    }

    [Test]
    public void ToString_OfTextEntry_HasKeyAndValue()
    {
        Assert.That(new Metadata.Entry("Key", "v").ToString(), Is.EqualTo("[Entry: key=key, value=v]"));
    }

    [Test]
    public void ToString_OfBinaryEntry_HasNoBytes()
    {
        Assert.That(
            new Metadata.Entry("key-bin", [1]).ToString(),
            Is.EqualTo("[Entry: key=key-bin, valueBytes=System.Byte[]]"));
    }
}
