using System.Buffers;
using MessagePack.Tests.Fakes;

namespace MessagePack.Tests.Tokens;

/// <summary>What each of the writer's methods writes, byte for byte.</summary>
public class WriterGoldenTests
{
    private static readonly sbyte s_someType = 5;

    private static IEnumerable<TestCaseData> Scalars()
    {
        yield return Case("Nil", "c0", (ref writer) => writer.WriteNil());
        yield return Case("True", "c3", (ref writer) => writer.Write(true));
        yield return Case("False", "c2", (ref writer) => writer.Write(false));
        yield return Case("Byte", "ccff", (ref writer) => writer.Write(byte.MaxValue));
        yield return Case("SByte", "d080", (ref writer) => writer.Write(sbyte.MinValue));
        yield return Case("Int16", "d18000", (ref writer) => writer.Write(short.MinValue));
        yield return Case("UInt16", "cdffff", (ref writer) => writer.Write(ushort.MaxValue));
        yield return Case("Char", "cd20ac", (ref writer) => writer.Write('€'));
        yield return Case("Single", "ca40490fdb", (ref writer) => writer.Write(3.1415927f));
        yield return Case("Double", "cb400921fb54442d18", (ref writer) => writer.Write(Math.PI));
        yield return Case("SingleNegativeZero", "ca80000000", (ref writer) => writer.Write(-0f));
        yield return Case(
            "DoubleInfinity", "cb7ff0000000000000", (ref writer) => writer.Write(double.PositiveInfinity));
        yield return Case("UInt8AsToldTo", "cc01", (ref writer) => writer.WriteUInt8(1));
        yield return Case("Int8AsToldTo", "d001", (ref writer) => writer.WriteInt8(1));
        yield return Case("UInt16AsToldTo", "cd0001", (ref writer) => writer.WriteUInt16(1));
        yield return Case("Int16AsToldTo", "d1ffff", (ref writer) => writer.WriteInt16(-1));
        yield return Case("UInt32AsToldTo", "ce00000001", (ref writer) => writer.WriteUInt32(1));
        yield return Case("Int32AsToldTo", "d2ffffffff", (ref writer) => writer.WriteInt32(-1));
        yield return Case("UInt64AsToldTo", "cf0000000000000001", (ref writer) => writer.WriteUInt64(1));
        yield return Case("Int64AsToldTo", "d3ffffffffffffffff", (ref writer) => writer.WriteInt64(-1));
        yield return Case("StringNull", "c0", (ref writer) => writer.Write((string?)null));
        yield return Case("BytesNull", "c0", (ref writer) => writer.Write((byte[]?)null));
        yield return Case("Utf8", "a3e282ac", (ref writer) => writer.WriteString("€"u8));
        yield return Case(
            "Utf8Sequence",
            "a3e282ac",
            (ref writer) => writer.WriteString(Segment.Join("€"u8[..1].ToArray(), "€"u8[1..].ToArray())));
        yield return Case("LoneSurrogate", "a3efbfbd", (ref writer) => writer.Write("\ud800"));
        yield return Case("RawSpan", "0102", (ref writer) => writer.WriteRaw([1, 2]));
        yield return Case(
            "RawSequence",
            "010203",
            (ref writer) => writer.WriteRaw(Segment.Join(new byte[] { 1 }, new byte[] { 2, 3 })));
    }

    [TestCaseSource(nameof(Scalars))]
    public void Scalar_Written_HasItsBytes(string expected, object write)
    {
        Assert.That(Message.Written((WriteTokens)write), Is.EqualTo(expected));
    }

    [TestCase(0u, "90")]
    [TestCase(15u, "9f")]
    [TestCase(16u, "dc0010")]
    [TestCase(65535u, "dcffff")]
    [TestCase(65536u, "dd00010000")]
    [TestCase(uint.MaxValue, "ddffffffff")]
    public void ArrayHeader_Written_TakesTheShortestForm(uint count, string expected)
    {
        Assert.That(Message.Written((ref writer) => writer.WriteArrayHeader(count)), Is.EqualTo(expected));
        Assert.That(Message.Written((ref writer) => writer.WriteArrayHeader((int)count)), Is.EqualTo(expected));
    }

    [TestCase(0u, "80")]
    [TestCase(15u, "8f")]
    [TestCase(16u, "de0010")]
    [TestCase(65535u, "deffff")]
    [TestCase(65536u, "df00010000")]
    [TestCase(uint.MaxValue, "dfffffffff")]
    public void MapHeader_Written_TakesTheShortestForm(uint count, string expected)
    {
        Assert.That(Message.Written((ref writer) => writer.WriteMapHeader(count)), Is.EqualTo(expected));
        Assert.That(Message.Written((ref writer) => writer.WriteMapHeader((int)count)), Is.EqualTo(expected));
    }

    [TestCase(0, "c400", "a0")]
    [TestCase(31, "c41f", "bf")]
    [TestCase(32, "c420", "da0020")]
    [TestCase(255, "c4ff", "da00ff")]
    [TestCase(256, "c50100", "da0100")]
    [TestCase(65535, "c5ffff", "daffff")]
    [TestCase(65536, "c600010000", "db00010000")]
    public void BinHeader_Written_TakesTheShortestFormOfItsSpec(int length, string expected, string old)
    {
        Assert.That(Message.Written((ref writer) => writer.WriteBinHeader(length)), Is.EqualTo(expected));
        Assert.That(Message.Written((ref writer) => writer.WriteBinHeader(length), oldSpec: true), Is.EqualTo(old));
    }

    [TestCase(0, "a0", "a0")]
    [TestCase(31, "bf", "bf")]
    [TestCase(32, "d920", "da0020")]
    [TestCase(255, "d9ff", "da00ff")]
    [TestCase(256, "da0100", "da0100")]
    [TestCase(65536, "db00010000", "db00010000")]
    public void StringHeader_Written_TakesTheShortestFormOfItsSpec(int length, string expected, string old)
    {
        Assert.That(Message.Written((ref writer) => writer.WriteStringHeader(length)), Is.EqualTo(expected));
        Assert.That(Message.Written((ref writer) => writer.WriteStringHeader(length), oldSpec: true), Is.EqualTo(old));
    }

    [TestCase(0u, "c70005")]
    [TestCase(1u, "d405")]
    [TestCase(2u, "d505")]
    [TestCase(3u, "c70305")]
    [TestCase(4u, "d605")]
    [TestCase(8u, "d705")]
    [TestCase(16u, "d805")]
    [TestCase(17u, "c71105")]
    [TestCase(255u, "c7ff05")]
    [TestCase(256u, "c8010005")]
    [TestCase(65536u, "c90001000005")]
    public void ExtensionHeader_Written_TakesTheShortestForm(uint length, string expected)
    {
        Assert.That(
            Message.Written(
                (ref writer) => writer.WriteExtensionFormatHeader(new ExtensionHeader(s_someType, length))),
            Is.EqualTo(expected));
    }

    [Test]
    public void String_OfEveryLengthAndWidth_IsReadBackAndHasTheShortestHeader()
    {
        int[] lengths = [0, 1, 10, 11, 15, 16, 31, 32, 85, 86, 127, 128, 255, 256, 21845, 21846, 65535, 65536, 100_000];
        string[] characters = ["a", "ä", "€", "🍺"];
        foreach (string text in lengths.SelectMany(
            length => characters.Select(character => string.Concat(Enumerable.Repeat(character, length)))))
        {
            foreach (bool oldSpec in new[] { false, true })
            {
                string hex = Message.Written((ref writer) => writer.Write(text), oldSpec);
                int bytes = System.Text.Encoding.UTF8.GetByteCount(text);
                int header = bytes <= 31 ? 1 : bytes <= 255 && !oldSpec ? 2 : bytes <= 65535 ? 3 : 5;

                Assert.That(hex, Has.Length.EqualTo(2 * (bytes + header)));
                Assert.That(Message.Read(hex, (ref reader) => reader.ReadString()), Is.EqualTo(text));
            }
        }
    }

    [Test]
    public void LocalTime_Written_IsItsUtc()
    {
        DateTime local = new DateTime(2020, 1, 2, 3, 4, 5, DateTimeKind.Utc).ToLocalTime();

        Assert.That(Message.Written((ref writer) => writer.Write(local)), Is.EqualTo("d6ff5e0d5da5"));
    }

    [Test]
    public void Time_InTheOldSpec_IsRefused()
    {
        Assert.That(
            () => Message.Written((ref writer) => writer.Write(DateTime.UnixEpoch), oldSpec: true),
            Throws.InstanceOf<NotSupportedException>());
    }

    [Test]
    public void Bytes_InTheOldSpec_AreAStringThatIsReadAsBytes()
    {
        byte[] value = new byte[40];
        string hex = Message.Written((ref writer) => writer.Write(value), oldSpec: true);

        Assert.That(hex, Does.StartWith("da0028"));
        Message.AssertReads(hex, value, (ref reader) => reader.ReadBytes()?.ToArray());
    }

    private static TestCaseData Case(string name, string expected, WriteTokens write) =>
        new TestCaseData(expected, write).SetArgDisplayNames(name);
}
