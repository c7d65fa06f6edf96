using Google.Protobuf;
using RpcOverShm.MessagePack.Tests.Protos;

namespace RpcOverShm.MessagePack.Tests;

/// <summary>Input that the codec reads but would not write: from other implementations or newer versions.</summary>
[TestFixture(Way.Compiled)]
[TestFixture(Way.Described)]
internal sealed class ReadingTests(Way way)
{
    [TestCase("810305", 5)]
    [TestCase("8103cc05", 5)]
    [TestCase("8103cd0005", 5)]
    [TestCase("8103ce00000005", 5)]
    [TestCase("8103cf0000000000000005", 5)]
    [TestCase("8103d005", 5)]
    [TestCase("8103d10005", 5)]
    [TestCase("8103d200000005", 5)]
    [TestCase("8103d30000000000000005", 5)]
    [TestCase("8103d0ff", -1)]
    [TestCase("8103d1ffff", -1)]
    [TestCase("8103d2ffffffff", -1)]
    [TestCase("8103d3ffffffffffffffff", -1)]
    [TestCase("81cc0305", 5)]
    [TestCase("81d30000000000000003d005", 5)]
    public void Integer_InAnyForm_IsRead(string hex, int expected) =>
        Assert.That(way.ReadHex<Scalars>(hex).I32, Is.EqualTo(expected));

    [TestCase("810cd38000000000000000", long.MinValue)]
    [TestCase("810ccf7fffffffffffffff", long.MaxValue)]
    public void Integer_AtItsLimit_IsRead(string hex, long expected) =>
        Assert.That(way.ReadHex<Scalars>(hex).Sfx64, Is.EqualTo(expected));

    [TestCase("ca3fc00000", 1.5)]
    [TestCase("07", 7)]
    [TestCase("d0ff", -1)]
    [TestCase("cf8000000000000000", 9223372036854775808.0)]
    [TestCase("ca7fc00000", double.NaN)]
    [TestCase("caff800000", double.NegativeInfinity)]
    public void Double_FromAnotherNumberItHolds_IsRead(string number, double expected) =>
        Assert.That(way.ReadHex<Scalars>("8101" + number).F64, Is.EqualTo(expected));

    [TestCase("cb3ff8000000000000", 1.5f)]
    [TestCase("cb7ff0000000000000", float.PositiveInfinity)]
    [TestCase("cb7ff8000000000000", float.NaN)]
    [TestCase("cb47efffffe0000000", float.MaxValue)]
    [TestCase("ce01000000", 16_777_216f)]
    [TestCase("e0", -32f)]
    public void Float_FromAnotherNumberItHolds_IsRead(string number, float expected) =>
        Assert.That(way.ReadHex<Scalars>("8102" + number).F32, Is.EqualTo(expected));

    [Test]
    public void Strings_WithLongerHeadersThanNeeded_AreRead()
    {
        Assert.That(way.ReadHex<Scalars>("810ed90178").Text, Is.EqualTo("x"));
        Assert.That(way.ReadHex<Scalars>("810eda000178").Text, Is.EqualTo("x"));
        Assert.That(way.ReadHex<Scalars>("810edb0000000178").Text, Is.EqualTo("x"));
        Assert.That(way.ReadHex<Scalars>("810fc6000000010a").Raw, Is.EqualTo(ByteString.CopyFrom(10)));
        Assert.That(way.ReadHex<Scalars>("df00000001 0301").I32, Is.EqualTo(1));
        Assert.That(way.ReadHex<Lists>("de0001 03 dd00000001 01").I32, Is.EqualTo(new[] { 1 }));
    }

    [Test]
    public void Fields_InAnyOrder_AreRead() => Assert.That(
        way.ReadHex<Scalars>("83 0ea178 0302 0dc3"),
        Is.EqualTo(new Scalars { Text = "x", I32 = 2, Flag = true }));

    [TestCase("01")]
    [TestCase("c0")]
    [TestCase("c3")]
    [TestCase("cb3ff8000000000000")]
    [TestCase("a3616263")]
    [TestCase("d9 03 616263")]
    [TestCase("c402 0001")]
    [TestCase("92 01 92 02 03")]
    [TestCase("82 a161 01 c0 93c0c0c0")]
    [TestCase("dc0001 c0")]
    [TestCase("df00000001 81c0c0 c0")]
    [TestCase("d4 05 00")]
    [TestCase("d8 05 000102030405060708090a0b0c0d0e0f")]
    [TestCase("c7 00 05")]
    [TestCase("c8 0002 05 0001")]
    [TestCase("c9 00000001 05 00")]
    public void Unknown_OfAnyKind_IsPassedOver(string value)
    {
        Assert.That(way.ReadHex<OldScalars>($"83 0e a178 0f {value} 01 cb3ff8000000000000"), Is.EqualTo(
            new OldScalars { Text = "x", F64 = 1.5 }));
        Assert.That(way.ReadHex<Nothing>($"81 ce1fffffff {value}"), Is.EqualTo(new Nothing()));
    }

    [Test]
    public void Message_OfANewerVersion_KeepsWhatIsKnown()
    {
        var newer = new Scalars { F64 = 2, Text = "t", U64 = 7, Raw = ByteString.CopyFrom(1, 2), Colour = Colour.Far };

        Assert.That(way.Read<OldScalars>(way.Write(newer)), Is.EqualTo(new OldScalars { F64 = 2, Text = "t" }));
    }

    [Test]
    public void Nil_InPlaceOfAnyField_IsAsIfItWereAbsent()
    {
        Assert.That(way.ReadHex<Scalars>(NilFor(16)), Is.EqualTo(new Scalars()));
        Assert.That(way.ReadHex<Optionals>(NilFor(17)), Is.EqualTo(new Optionals()));
        Assert.That(way.ReadHex<Lists>(NilFor(19)), Is.EqualTo(new Lists()));
        Assert.That(way.ReadHex<Maps>(NilFor(19)), Is.EqualTo(new Maps()));
        Assert.That(way.ReadHex<Choice>(NilFor(14)), Is.EqualTo(new Choice()));
        Assert.That(way.ReadHex<WellKnown>(NilFor(17)), Is.EqualTo(new WellKnown()));
        Assert.That(way.ReadHex<Second>(NilFor(13)), Is.EqualTo(new Second()));
    }

    [Test]
    public void Nil_BehindAValue_LeavesTheValue() =>
        Assert.That(way.ReadHex<Choice>("83 05a178 05c0 02c0").Text, Is.EqualTo("x"));

    [Test]
    public void Nil_InAnyList_IsTheDefault()
    {
        Lists lists = way.ReadHex<Lists>("de0013" + string.Concat(Enumerable.Range(1, 19).Select(i => $"{i:x2}91c0")));

        Assert.That(lists, Is.EqualTo(new Lists
        {
            F64 = { 0 },
            F32 = { 0 },
            I32 = { 0 },
            I64 = { 0 },
            U32 = { 0 },
            U64 = { 0 },
            S32 = { 0 },
            S64 = { 0 },
            Fx32 = { 0 },
            Fx64 = { 0 },
            Sfx32 = { 0 },
            Sfx64 = { 0 },
            Flag = { false },
            Text = { "" },
            Raw = { ByteString.Empty },
            Colour = { Colour.None },
            Message = { new Scalars() },
            Wrapped = { 0L },
            WrappedText = { "" },
        }));
    }

    [Test]
    public void Nil_InAnyMap_IsTheDefault()
    {
        Maps maps = way.ReadHex<Maps>("de0013" + string.Concat(Enumerable.Range(1, 19).Select(i => $"{i:x2}81c0c0")));

        Assert.That(maps, Is.EqualTo(new Maps
        {
            I32 = { [0] = 0 },
            I64 = { [0] = 0 },
            U32 = { [0] = 0 },
            U64 = { [0] = 0 },
            S32 = { [0] = 0 },
            S64 = { [0] = 0 },
            Fx32 = { [0] = 0 },
            Fx64 = { [0] = 0 },
            Sfx32 = { [0] = 0 },
            Sfx64 = { [0] = 0 },
            Flag = { [false] = 0 },
            Text = { [""] = 0 },
            Flags = { [""] = false },
            Texts = { [""] = "" },
            Raws = { [""] = ByteString.Empty },
            Colours = { [""] = Colour.None },
            Messages = { [0] = new Scalars() },
            WrappedTexts = { [""] = "" },
            Wrapped = { [""] = 0 },
        }));
    }

    [Test]
    public void Nil_InAWrapper_IsTheDefault()
    {
        Assert.That(way.ReadHex<WellKnown>("82 0d 81 01 c0 10 81 01 c0"), Is.EqualTo(
            new WellKnown { I32 = 0, Text = "" }));
        Assert.That(way.ReadHex<WellKnown>("81 0d 82 02 a178 01 05").I32, Is.EqualTo(5), "Unknown fields are passed.");
    }

    [Test]
    public void Duplicates_OfAScalar_TheLastWins()
    {
        Assert.That(
            way.ReadHex<Scalars>("84 0301 0ea178 0302 0ea179"), Is.EqualTo(new Scalars { I32 = 2, Text = "y" }));
        Assert.That(way.ReadHex<Scalars>("82 0301 0300").I32, Is.Zero);
        Assert.That(way.ReadHex<Optionals>("82 0301 0300").HasI32);
    }

    [Test]
    public void Duplicates_OfAMessage_Merge()
    {
        Assert.That(way.ReadHex<Node>("82 02 81 01a178 02 81 07 81 0301"), Is.EqualTo(
            new Node { Next = new Node { Name = "x", Leaf = new Scalars { I32 = 1 } } }));
        Assert.That(way.ReadHex<WellKnown>("82 0d 81 01 05 0d 80").I32, Is.EqualTo(5));
        Assert.That(way.ReadHex<WellKnown>("82 10 81 01 a178 10 80").Text, Is.EqualTo("x"));
        Assert.That(way.ReadHex<WellKnown>("82 0d 81 01 05 0d 81 01 06").I32, Is.EqualTo(6));
    }

    [Test]
    public void Duplicates_OfAOneof_TheLastWinsAndTheSameMessageMerges()
    {
        Assert.That(way.ReadHex<Choice>("82 0201 05a178"), Is.EqualTo(new Choice { Text = "x" }));
        Assert.That(way.ReadHex<Choice>("82 08 81 0301 08 81 0ea178"), Is.EqualTo(
            new Choice { Message = new Scalars { I32 = 1, Text = "x" } }));
        Assert.That(way.ReadHex<Choice>("83 08 81 0301 0201 08 81 0ea178"), Is.EqualTo(
            new Choice { Message = new Scalars { Text = "x" } }));
        Assert.That(way.ReadHex<Choice>("82 0a 81 01 05 0a 80").Wrapped, Is.EqualTo(5));
    }

    [Test]
    public void Duplicates_OfCollections_AreAddedAndMapEntriesReplaced()
    {
        Assert.That(way.ReadHex<Lists>("82 03 92 01 02 03 91 03").I32, Is.EqualTo(new[] { 1, 2, 3 }));
        Assert.That(way.ReadHex<Maps>("82 0e 82 a161 a131 a162 a132 0e 81 a161 a133").Texts, Is.EqualTo(
            new Dictionary<string, string> { ["a"] = "3", ["b"] = "2" }));
        Assert.That(way.ReadHex<Maps>("81 11 82 01 81 0301 01 81 0ea178").Messages[1], Is.EqualTo(
            new Scalars { Text = "x" }), "An entry does not merge.");
    }

    [Test]
    public void Enum_WithoutAName_IsKept()
    {
        Assert.That((int)way.ReadHex<Scalars>("8110 63").Colour, Is.EqualTo(99));
        Assert.That((int)way.ReadHex<Second>("8104 63").Level, Is.EqualTo(99), "Also where Protobuf calls it closed.");
        Assert.That(way.ReadHex<Second>("8108 92 01 63").Levels, Has.Count.EqualTo(2));
    }

    [Test]
    public void Required_ThatIsAbsent_IsNotMissedAsInProtobuf()
    {
        Assert.That(way.ReadHex<WithRequired>("81 02 81 01 00").Inner.HasNumber);
        Assert.That(way.ReadHex<WithRequired>("80"), Is.EqualTo(WithRequired.Parser.ParseFrom(ByteString.Empty)));
    }

    [Test]
    public void Message_InPiecesOfAnySize_IsRead([Values(1, 2, 3, 7, 1000)] int pieceBytes)
    {
        var message = new Scalars { F64 = 1.5, Text = new string('€', 100), U64 = ulong.MaxValue, Flag = true };

        MemoryDeserializationContext context = MemoryDeserializationContext.InPieces(way.Write(message), pieceBytes);

        Assert.That(Codec.Marshaller<Scalars>(way).ContextualDeserializer(context), Is.EqualTo(message));
    }

    [Test]
    public void Message_WrittenInPiecesOfAnySize_HasTheSameBytes([Values(1, 2, 3, 5, 10, 50, 1000)] int pieceBytes)
    {
        var message = new Scalars
        {
            F64 = 1.5,
            F32 = 2.5f,
            U64 = ulong.MaxValue,
            I64 = -1000,
            Flag = true,
            Text = "aé€😀 " + string.Concat(Enumerable.Repeat("😀", 50)) + new string('x', 100) + "\ud800",
            Raw = ByteString.CopyFrom(new byte[300]),
        };
        var context = new MemorySerializationContext(pieceBytes);

        Codec.Marshaller<Scalars>(way).ContextualSerializer(message, context);

        Assert.That(context.ToArray(), Is.EqualTo(way.Write(message)));
    }

    private static string NilFor(int fields) =>
        $"de{fields:x4}" + string.Concat(Enumerable.Range(1, fields).Select(i => $"{i:x2}c0"));
}
