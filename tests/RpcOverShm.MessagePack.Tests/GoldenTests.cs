using Google.Protobuf;
using Google.Protobuf.WellKnownTypes;
using RpcOverShm.MessagePack.Tests.Protos;

namespace RpcOverShm.MessagePack.Tests;

/// <summary>Handwritten bytes for every rule of the package's README. A change here changes the wire format.</summary>
[TestFixture(Way.Compiled)]
[TestFixture(Way.Described)]
internal sealed class GoldenTests(Way way)
{
    private static IEnumerable<TestCaseData> Vectors =>
    [
        Row("nothing", new Nothing(), "80"),
        Row("all default", new Scalars(), "80"),
        Row("f64", new Scalars { F64 = 1.5 }, "81 01 cb3ff8000000000000"),
        Row("f64 that is whole", new Scalars { F64 = 1 }, "81 01 cb3ff0000000000000"),
        Row("f64 nan", new Scalars { F64 = double.NaN }, "81 01 cbfff8000000000000"),
        Row("f64 -0", new Scalars { F64 = -0.0 }, "81 01 cb8000000000000000"),
        Row("f32", new Scalars { F32 = 1.5f }, "81 02 ca3fc00000"),
        Row("f32 -0", new Scalars { F32 = -0f }, "81 02 ca80000000"),
        Row("f32 infinite", new Scalars { F32 = float.NegativeInfinity }, "81 02 caff800000"),
        .. Signed(number => new Scalars { I32 = (int)number }, "81 03"),
        Row("i32 least", new Scalars { I32 = int.MinValue }, "81 03 d280000000"),
        .. Signed(number => new Scalars { I64 = number }, "81 04"),
        Row("i64 4294967296", new Scalars { I64 = 1L << 32 }, "81 04 cf0000000100000000"),
        Row("i64 -2147483649", new Scalars { I64 = int.MinValue - 1L }, "81 04 d3ffffffff7fffffff"),
        Row("i64 least", new Scalars { I64 = long.MinValue }, "81 04 d38000000000000000"),
        Row("u32 most", new Scalars { U32 = uint.MaxValue }, "81 05 ceffffffff"),
        Row("u64 most", new Scalars { U64 = ulong.MaxValue }, "81 06 cfffffffffffffffff"),
        Row("s32", new Scalars { S32 = -33 }, "81 07 d0df"),
        Row("s64", new Scalars { S64 = -129 }, "81 08 d1ff7f"),
        Row("fx32", new Scalars { Fx32 = 65536 }, "81 09 ce00010000"),
        Row("fx64", new Scalars { Fx64 = 256 }, "81 0a cd0100"),
        Row("sfx32", new Scalars { Sfx32 = -1 }, "81 0b ff"),
        Row("sfx64", new Scalars { Sfx64 = -32 }, "81 0c e0"),
        Row("flag", new Scalars { Flag = true }, "81 0d c3"),
        Row("text", new Scalars { Text = "aé€😀" }, "81 0e aa61c3a9e282acf09f9880"),
        Row("raw", new Scalars { Raw = ByteString.CopyFrom(0, 255) }, "81 0f c40200ff"),
        Row("colour", new Scalars { Colour = Colour.Dark }, "81 10 f9"),
        Row("colour without a name", new Scalars { Colour = (Colour)300 }, "81 10 cd012c"),
        Row("in order", new Scalars { Flag = true, F64 = 1.5, I32 = 2 }, "83 01cb3ff8000000000000 0302 0dc3"),
        Row(
            "sixteen fields",
            new Scalars
            {
                F64 = 1, F32 = 1, I32 = 1, I64 = 1, U32 = 1, U64 = 1, S32 = 1, S64 = 1, Fx32 = 1, Fx64 = 1, Sfx32 = 1,
                Sfx64 = 1, Flag = true, Text = "1", Raw = ByteString.CopyFrom(1), Colour = Colour.Red,
            },
            "de0010 01cb3ff0000000000000 02ca3f800000 0301 0401 0501 0601 0701 0801 0901 0a01 0b01 0c01 0dc3 0ea131 "
            + "0fc40101 1001"),
        Row("optional, absent", new Optionals(), "80"),
        Row("optional f64 0", new Optionals { F64 = 0 }, "81 01 cb0000000000000000"),
        Row("optional f32 0", new Optionals { F32 = 0 }, "81 02 ca00000000"),
        Row("optional i32 0", new Optionals { I32 = 0 }, "81 03 00"),
        Row("optional u64 0", new Optionals { U64 = 0 }, "81 06 00"),
        Row("optional false", new Optionals { Flag = false }, "81 0d c2"),
        Row("optional empty text", new Optionals { Text = "" }, "81 0e a0"),
        Row("optional empty raw", new Optionals { Raw = ByteString.Empty }, "81 0f c400"),
        Row("optional colour 0", new Optionals { Colour = Colour.None }, "81 10 00"),
        Row("optional message", new Optionals { Message = new Scalars() }, "81 11 80"),
        Row("list of i32", new Lists { I32 = { 0, -1, 300 } }, "81 03 93 00 ff cd012c"),
        Row("list of unpacked i64", new Lists { I64 = { 1, 2 } }, "81 04 92 01 02"),
        Row("list of f32", new Lists { F32 = { 0, 1.5f } }, "81 02 92 ca00000000 ca3fc00000"),
        Row("list of flags", new Lists { Flag = { true, false } }, "81 0d 92 c3 c2"),
        Row("list of texts", new Lists { Text = { "", "x" } }, "81 0e 92 a0 a178"),
        Row("list of raws", new Lists { Raw = { ByteString.Empty } }, "81 0f 91 c400"),
        Row("list of colours", new Lists { Colour = { Colour.None, Colour.Far } }, "81 10 92 00 ce7fffffff"),
        Row("messages", new Lists { Message = { new Scalars(), new Scalars { I32 = 1 } } }, "81 11 92 80 810301"),
        Row("list of wrappers", new Lists { Wrapped = { 0, 5 } }, "81 12 92 80 810105"),
        Row("list of wrapped texts", new Lists { WrappedText = { "", "x" } }, "81 13 92 80 8101a178"),
        Row("map by i32", new Maps { I32 = { [-1] = 0 } }, "81 01 81 ff cb0000000000000000"),
        Row("map by u64", new Maps { U64 = { [1uL << 32] = 1 } }, "81 04 81 cf0000000100000000 01"),
        Row("map by bool", new Maps { Flag = { [false] = 1, [true] = 0 } }, "81 0b 82 c2 01 c3 00"),
        Row("map by text", new Maps { Texts = { [""] = "", ["k"] = "v" } }, "81 0e 82 a0 a0 a16b a176"),
        Row("map of messages", new Maps { Messages = { [1] = new Scalars() } }, "81 11 81 01 80"),
        Row("map of wrappers", new Maps { WrappedTexts = { ["k"] = "v" } }, "81 12 81 a16b 8101a176"),
        Row("choice of none", new Choice { Before = 1, Behind = 2 }, "82 01 01 0c 02"),
        Row("choice of 0", new Choice { Number = 0, Behind = 2 }, "82 02 00 0c 02"),
        Row("choice of empty text", new Choice { Text = "" }, "81 05 a0"),
        Row("choice of a message", new Choice { Message = new Scalars() }, "81 08 80"),
        Row("choice of a wrapper", new Choice { Wrapped = 0 }, "81 0a 80"),
        Row("choice of nothing", new Choice { Nothing = new Empty() }, "81 0b 80"),
        Row("both choices", new Choice { Flag = false, Two = new Choice { One = 0 } }, "82 04 c2 0e 81 0d 00"),
        Row(
            "recursion",
            new Node { Next = new Node { Name = "b" }, ByName = { ["c"] = new Node() } },
            "82 02 81 01 a162 04 81 a163 80"),
        Row("timestamp", new WellKnown { Timestamp = new() { Seconds = -1, Nanos = 5 } }, "81 01 82 01 ff 02 05"),
        Row("duration", new WellKnown { Duration = new Duration { Seconds = 300 } }, "81 02 81 01 cd012c"),
        Row(
            "any",
            new WellKnown { Any = new Any { TypeUrl = "t", Value = ByteString.CopyFrom(8, 1) } },
            "81 03 82 01 a174 02 c4020801"),
        Row(
            "struct",
            new WellKnown { Structure = new() { Fields = { ["a"] = Value.ForNull(), ["b"] = Value.ForBool(false) } } },
            "81 04 81 01 82 a161 81 01 00 a162 81 04 c2"),
        Row("value", new WellKnown { Value = Value.ForNumber(0) }, "81 05 81 02 cb0000000000000000"),
        Row("list", new WellKnown { List = new() { Values = { Value.ForString("") } } }, "81 06 81 01 91 81 03 a0"),
        Row("mask", new WellKnown { Mask = new FieldMask { Paths = { "a.b" } } }, "81 07 81 01 91 a3612e62"),
        Row("empty", new WellKnown { Empty = new Empty() }, "81 08 80"),
        Row("wrapper of 0", new WellKnown { I32 = 0 }, "81 0d 80"),
        Row("wrapper of -0", new WellKnown { F64 = -0.0 }, "81 09 81 01 cb8000000000000000"),
        Row("wrapper of text", new WellKnown { Text = "x" }, "81 10 81 01 a178"),
        Row("wrapper of raw", new WellKnown { Raw = ByteString.CopyFrom(1) }, "81 11 81 01 c40101"),
        Row("wrapper as root", new Int64Value { Value = 5 }, "81 01 05"),
        Row("timestamp as root", new Timestamp(), "80"),
        Row("key 127", new Sparse { LargestFixint = 1 }, "81 7f 01"),
        Row("key 128", new Sparse { SmallestUint8 = 1 }, "81 cc80 01"),
        Row("key 255", new Sparse { LargestUint8 = 1 }, "81 ccff 01"),
        Row("key 256", new Sparse { SmallestUint16 = 1 }, "81 cd0100 01"),
        Row("key 65535", new Sparse { LargestUint16 = 1 }, "81 cdffff 01"),
        Row("key 65536", new Sparse { SmallestUint32 = 1 }, "81 ce00010000 01"),
        Row("key 2^29-1", new Sparse { Largest = { "x" } }, "81 ce1fffffff 91 a178"),
        Row("proto2, absent", new Second(), "80"),
        Row("proto2, the default", new Second { Number = 42, Flag = true }, "82 01 2a 07 c3"),
        Row("proto2, level", new Second { Level = Second.Types.Level.Low }, "81 04 01"),
        Row("proto2, choice", new Second { Two = 0 }, "81 0d 00"),
        Row("required", new WithRequired { Number = 0 }, "81 01 00"),
    ];

    [TestCaseSource(nameof(Vectors))]
    public void Message_WrittenAndRead_HasTheBytesOfTheVector(IVector vector) => vector.Check(way);

    [TestCase(31, "bf")]
    [TestCase(32, "d920")]
    [TestCase(255, "d9ff")]
    [TestCase(256, "da0100")]
    [TestCase(65_535, "daffff")]
    [TestCase(65_536, "db00010000")]
    public void String_OfALength_HasTheShortestHeader(int length, string header)
    {
        var message = new Scalars { Text = new string('x', length) };

        byte[] bytes = way.Write(message);

        Assert.That(Codec.Hex(bytes), Does.StartWith($"810e{header}7878"));
        Assert.That(bytes, Has.Length.EqualTo(2 + (header.Length / 2) + length));
        Assert.That(way.Read<Scalars>(bytes), Is.EqualTo(message));
    }

    [TestCase(11, 31, "bf")]
    [TestCase(11, 32, "d920")]
    [TestCase(100, 255, "d9ff")]
    [TestCase(100, 256, "da0100")]
    [TestCase(30_000, 65_535, "daffff")]
    [TestCase(30_000, 65_536, "db00010000")]
    public void String_WithMoreBytesThanCharacters_HasTheHeaderOfItsBytes(int characters, int bytes, string header)
    {
        // Characters of three bytes, one of two bytes if needed, and the rest of one byte.
        int long3 = (bytes - characters) / 2;
        string text = new string('€', long3) + (((bytes - characters) & 1) == 1 ? "é" : "");
        text += new string('x', characters - text.Length);

        byte[] written = way.Write(new Scalars { Text = text });

        Assert.That(Codec.Hex(written), Does.StartWith($"810e{header}e282ac"));
        Assert.That(way.Read<Scalars>(written).Text, Is.EqualTo(text));
    }

    [TestCase(255, "c4ff")]
    [TestCase(256, "c50100")]
    [TestCase(65_535, "c5ffff")]
    [TestCase(65_536, "c600010000")]
    public void Bytes_OfALength_HaveTheShortestHeader(int length, string header)
    {
        var message = new Scalars { Raw = ByteString.CopyFrom(new byte[length]) };

        byte[] bytes = way.Write(message);

        Assert.That(Codec.Hex(bytes), Does.StartWith($"810f{header}0000"));
        Assert.That(way.Read<Scalars>(bytes), Is.EqualTo(message));
    }

    [TestCase(15, "9f", "8f")]
    [TestCase(16, "dc0010", "de0010")]
    [TestCase(65_535, "dcffff", "deffff")]
    [TestCase(65_536, "dd00010000", "df00010000")]
    public void Collections_OfACount_HaveTheShortestHeader(int count, string array, string map)
    {
        var lists = new Lists { I32 = { Enumerable.Repeat(1, count) } };
        var maps = new Maps { U32 = { Enumerable.Range(0, count).ToDictionary(i => (uint)i, i => i) } };

        Assert.That(Codec.Hex(way.Write(lists)), Does.StartWith($"8103{array}0101"));
        Assert.That(Codec.Hex(way.Write(maps)), Does.StartWith($"8103{map}00000101"));
        Assert.That(way.Read<Lists>(way.Write(lists)), Is.EqualTo(lists));
        Assert.That(way.Read<Maps>(way.Write(maps)), Is.EqualTo(maps));
    }

    [Test]
    public void String_WithHalfACharacter_IsWrittenAsInProtobuf()
    {
        var message = new Scalars { Text = "a\ud800b" };

        Assert.That(Codec.Hex(way.Write(message)), Is.EqualTo("810ea561efbfbd62"));
        Assert.That(way.Read<Scalars>(way.Write(message)), Is.EqualTo(Codec.ThroughProtobuf(message)));
    }

    private static IEnumerable<TestCaseData> Signed(Func<long, IMessage> with, string before) =>
        from row in new (long Number, string Bytes)[]
        {
            (1, "01"), (127, "7f"), (128, "cc80"), (255, "ccff"), (256, "cd0100"), (65_535, "cdffff"),
            (65_536, "ce00010000"), (int.MaxValue, "ce7fffffff"), (-1, "ff"), (-32, "e0"), (-33, "d0df"),
            (-128, "d080"), (-129, "d1ff7f"), (-32_768, "d18000"), (-32_769, "d2ffff7fff"),
        }
        let message = (Scalars)with(row.Number)
        select Row($"{before[3..]}: {row.Number}", message, $"{before} {row.Bytes}");

    private static TestCaseData Row<T>(string name, T message, string hex)
        where T : class, IMessage<T> => new(new Vector<T>(name, message, hex));
}

/// <summary>A message and its bytes as hexadecimal digits.</summary>
internal sealed class Vector<T>(string name, T message, string hex) : IVector
    where T : class, IMessage<T>
{
    public void Check(Way way)
    {
        Assert.That(Codec.Hex(way.Write(message)), Is.EqualTo(hex.Replace(" ", "", StringComparison.Ordinal)));
        Assert.That(way.ReadHex<T>(hex), Is.EqualTo(message));
    }

    public override string ToString() => name;
}

/// <summary>A vector for any type of message.</summary>
public interface IVector
{
    /// <summary>Writes and reads the message, and compares both results.</summary>
    void Check(Way way);
}
