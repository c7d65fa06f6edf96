using MessagePack.Tests.Fakes;

namespace MessagePack.Tests.Tokens;

/// <summary>Whoever asks for what is not there is told so, whatever is there instead, and nothing is taken.</summary>
public class WrongTokenTests
{
    private static readonly string[] s_samples =
    [
        "c0", "c1", "c2", "05", "e0", "cc05", "d3ffffffffffffffff", "ca3f800000", "cb3ff0000000000000", "a161",
        "d90161", "c40161", "91c0", "dc0001c0", "8105c0", "de000105c0", "d40105", "d6ff00000000", "c7030105ffff",
    ];

    private static IEnumerable<TestCaseData> Reads()
    {
        yield return Case("Boolean", (ref reader) => reader.ReadBoolean(), MessagePackType.Boolean);
        yield return Case("Nil", (ref reader) => reader.ReadNil(), MessagePackType.Nil);
        yield return Case("Int64", (ref reader) => reader.ReadInt64(), MessagePackType.Integer);
        yield return Case("Byte", (ref reader) => (object)reader.ReadByte(), MessagePackType.Integer);
        yield return Case(
            "Double", (ref reader) => reader.ReadDouble(), MessagePackType.Float, MessagePackType.Integer);
        yield return Case(
            "Single", (ref reader) => reader.ReadSingle(), MessagePackType.Float, MessagePackType.Integer);
        yield return Case("String", (ref reader) => reader.ReadString(), MessagePackType.String, MessagePackType.Nil);
        yield return Case(
            "StringSpan",
            (ref reader) => reader.TryReadStringSpan(out _),
            MessagePackType.String,
            MessagePackType.Nil);
        yield return Case(
            "StringSequence", (ref reader) => reader.ReadStringSequence(), MessagePackType.String, MessagePackType.Nil);
        yield return Case(
            "Bytes",
            (ref reader) => reader.ReadBytes(),
            MessagePackType.Binary,
            MessagePackType.String,
            MessagePackType.Nil);
        yield return Case("Array", (ref reader) => reader.ReadArrayHeader(), MessagePackType.Array);
        yield return Case("Map", (ref reader) => reader.ReadMapHeader(), MessagePackType.Map);
        yield return Case(
            "ExtensionHeader", (ref reader) => reader.ReadExtensionFormatHeader(), MessagePackType.Extension);
        yield return Case("Extension", (ref reader) => reader.ReadExtensionFormat(), MessagePackType.Extension);
    }

    [TestCaseSource(nameof(Reads))]
    public void Read_OfEveryOtherToken_IsRefused(object read, MessagePackType[] right)
    {
        string[] others = [.. s_samples.Where(sample => !right.Contains(TypeOf(sample)))];

        Assert.That(others, Is.Not.Empty);
        foreach (string other in others)
        {
            Message.AssertThrows<MessagePackSerializationException>(other, (ReadTokens<object?>)read);
        }
    }

    [Test]
    public void Refusal_OfAToken_NamesIt()
    {
        Assert.That(
            () => Message.Read("a161", (ref reader) => reader.ReadInt32()),
            Throws.InstanceOf<MessagePackSerializationException>().With.Message.Contains("fixstr"));
    }

    [TestCase("d40100", TestName = "Time_OfAnotherExtension_IsRefused")]
    [TestCase("d5ff0000", TestName = "Time_OfTwoBytes_IsRefused")]
    [TestCase("c70dff00000000000000000000000000", TestName = "Time_OfThirteenBytes_IsRefused")]
    [TestCase("c700ff", TestName = "Time_OfNoBytes_IsRefused")]
    public void Time_OfAnotherShape_IsRefused(string hex)
    {
        Message.AssertThrows<MessagePackSerializationException>(hex, (ref reader) => reader.ReadDateTime());
    }

    [Test]
    public void Skip_OfTheCodeThatIsNeverUsed_IsRefused()
    {
        Message.AssertThrows<MessagePackSerializationException>("c1", (ref reader) =>
        {
            reader.Skip();
            return null;
        });
    }

    [Test]
    public void Read_ThatIsRefused_CanBeReadAsWhatItIs()
    {
        Message.AssertReads("cd0100", 256, (ref reader) =>
        {
            try
            {
                reader.ReadByte();
            }
            catch (OverflowException)
            {
                return reader.ReadInt32();
            }

            return -1;
        });
    }

    private static MessagePackType TypeOf(string hex) => MessagePackCode.ToMessagePackType(Message.Bytes(hex)[0]);

    private static TestCaseData Case<T>(string name, ReadTokens<T> read, params MessagePackType[] right)
    {
        ReadTokens<object?> boxed = (ref reader) => read(ref reader);
        return new TestCaseData(boxed, right).SetArgDisplayNames(name);
    }
}
