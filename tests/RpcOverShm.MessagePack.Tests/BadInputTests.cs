using Google.Protobuf;
using Google.Protobuf.WellKnownTypes;
using MessagePack;
using RpcOverShm.MessagePack.Tests.Protos;

namespace RpcOverShm.MessagePack.Tests;

/// <summary>Unreadable input fails with one kind of exception, whose message names the place.</summary>
[TestFixture(Way.Compiled)]
[TestFixture(Way.Described)]
internal sealed class BadInputTests(Way way)
{
    [TestCase("8103 a178", "an integer")]
    [TestCase("8103 cb3ff0000000000000", "an integer")]
    [TestCase("8103 c3", "an integer")]
    [TestCase("8103 90", "an integer")]
    [TestCase("8101 a178", "a number")]
    [TestCase("8102 c2", "a number")]
    [TestCase("810d 01", "a bool")]
    [TestCase("810e c40178", "str")]
    [TestCase("810e 05", "str")]
    [TestCase("810f a178", "bin")]
    [TestCase("810f 91 01", "bin")]
    [TestCase("8110 a178", "an integer")]
    [TestCase("8103 c1", "an integer")]
    [TestCase("8103 d4 ff 00", "an integer")]
    public void Type_ThatIsWrong_IsNamedWithItsField(string hex, string expected)
    {
        string failure = way.FailureOf<Scalars>(hex);

        Assert.That(failure, Does.Contain("rpcovershm.msgpack.test.Scalars").And.Contains(expected));
        Assert.That(failure, Does.Contain(FormatNameOf(hex)).And.Match(@"field \d+ \('\w+'\)"));
    }

    [Test]
    public void Message_OfAnotherType_IsRefused()
    {
        Assert.That(way.FailureOf<Node>("8102 01"), Does.Contain("a map").And.Contains("field 2 ('next')"));
        Assert.That(way.FailureOf<Node>("8103 80"), Does.Contain("an array").And.Contains("field 3 ('children')"));
        Assert.That(way.FailureOf<Node>("8104 90"), Does.Contain("a map").And.Contains("field 4 ('by_name')"));
        Assert.That(way.FailureOf<Node>("8105 05"), Does.Contain("a map").And.Contains("field 5 ('weight')"));
        Assert.That(way.FailureOf<Node>("8105 81 01 a178"), Does.Contain("an integer").And.Contains("('weight')"));
        Assert.That(way.FailureOf<Node>("90"), Does.Contain("a map"));
        Assert.That(way.FailureOf<Node>("a178"), Does.Contain("a map"));
    }

    // Found by fuzzing: compiled code read the nil as a map, and refused that for the bytes that its surroundings lack.
    [Test]
    public void Wrapper_ThatIsNil_IsNotWhatIsRefused() => Assert.That(
        way.FailureOf<Maps>(
            "8113 de0013 d900 c0 c0 c0 ccc0 c0c0c0242424fbfbfbfbfbfbfb03e8fbfbfbfbfbfbfbfbfbc0c0c0c0c0c0c0"),
        Does.Contain("uint 8 where str is expected").And.Contains("field 19 ('wrapped')").And.Contains("byte 11"));

    [Test]
    public void Field_InsideAMessage_IsNamedWithThatMessage()
    {
        Assert.That(
            way.FailureOf<Node>("8103 92 80 81 07 81 0d 05"),
            Does.Contain("test.Scalars").And.Contains("field 13 ('flag')").And.Contains("byte 9"));
        Assert.That(
            way.FailureOf<Node>("82 02 81 01a178 01 c3"),
            Does.Contain("test.Node").And.Contains("field 1 ('name')"),
            "The message around is named again.");
        Assert.That(way.FailureOf<Node>("82 03 91 81 01a178 c3 c3"), Does.Contain("a field's number"));
    }

    [TestCase("8103 ce80000000", "2147483648")]
    [TestCase("8103 d3ffffffff7fffffff", "-2147483649")]
    [TestCase("8103 cfffffffffffffffff", "18446744073709551615")]
    [TestCase("8104 cf8000000000000000", "9223372036854775808")]
    [TestCase("8105 ff", "-1")]
    [TestCase("8105 cf0000000100000000", "4294967296")]
    [TestCase("8106 d0ff", "-1")]
    [TestCase("8109 d38000000000000000", "-9223372036854775808")]
    [TestCase("8110 ce80000000", "2147483648")]
    public void Integer_OutOfRange_IsNamed(string hex, string number) =>
        Assert.That(way.FailureOf<Scalars>(hex), Does.Contain(number).And.Contains("out of range"));

    [TestCase("8102 cb3fb999999999999a")]
    [TestCase("8102 cb7fefffffffffffff")]
    [TestCase("8102 ce01000001")]
    [TestCase("8101 cf7fffffffffffffff")]
    public void Number_ThatAFloatDoesNotHold_IsRefused(string hex) =>
        Assert.That(way.FailureOf<Scalars>(hex), Does.Contain("exactly"));

    [TestCase("81 00 01", "field number 0")]
    [TestCase("81 ff 01", "-1")]
    [TestCase("81 ce20000000 01", "536870912")]
    [TestCase("81 cfffffffffffffffff 01", "out of range")]
    [TestCase("81 a3666f6f 01", "a field's number")]
    [TestCase("81 c0 01", "a field's number")]
    [TestCase("81 cb7ff8000000000000 01", "a field's number")]
    [TestCase("81 ca3f800000 01", "a field's number")]
    public void Key_ThatIsNoFieldNumber_IsRefused(string hex, string expected) =>
        Assert.That(way.FailureOf<Scalars>(hex), Does.Contain(expected));

    [TestCase("81 01 81 cb7ff8000000000000 cb0000000000000000")]
    [TestCase("81 01 81 a178 cb0000000000000000")]
    [TestCase("81 01 81 ce80000000 cb0000000000000000")]
    [TestCase("81 03 81 ff 01")]
    [TestCase("81 0b 81 01 01")]
    [TestCase("81 0c 81 01 01")]
    [TestCase("81 0c 81 c40161 01")]
    public void Key_OfAMapThatIsWrong_IsRefused(string hex) =>
        Assert.That(way.FailureOf<Maps>(hex), Does.Contain("test.Maps").And.Contains("field "));

    [TestCase("a2c328")]
    [TestCase("a1ff")]
    [TestCase("a180")]
    [TestCase("a1c3")]
    [TestCase("a2c080")]
    [TestCase("a3eda080")]
    [TestCase("a4f4908080")]
    public void String_ThatIsNoUtf8_IsRefused(string text)
    {
        Assert.That(way.FailureOf<Scalars>("810e" + text), Does.Contain("UTF-8").And.Contains("field 14 ('text')"));
        Assert.That(way.FailureOf<Maps>($"810c81{text}01"), Does.Contain("UTF-8"));
        Assert.That(way.FailureOf<WellKnown>($"81108101{text}"), Does.Contain("UTF-8"));
    }

    [Test]
    public void Nil_AsTheWholeMessage_IsRefused() =>
        Assert.That(way.FailureOf<Scalars>("c0"), Does.Contain("nil"));

    [Test]
    public void Bytes_BehindTheMessage_AreRefused()
    {
        Assert.That(way.FailureOf<Scalars>("80 00"), Does.Contain("1 bytes more"));
        Assert.That(way.FailureOf<Scalars>("81 03 01 80"), Does.Contain("1 bytes more"));
    }

    [Test]
    public void Bytes_ThatAreNone_AreRefused() =>
        Assert.That(way.FailureOf<Scalars>(""), Does.Contain("more than there is"));

    [TestCase("8f")]
    [TestCase("81 0e a5 61")]
    [TestCase("81 0e d9ff 61")]
    [TestCase("81 0e dbffffffff 61")]
    [TestCase("81 0e db7fffffff 61")]
    [TestCase("81 0f c6ffffffff 61")]
    [TestCase("dfffffffff 0301")]
    [TestCase("df80000001 0301")]
    [TestCase("deffff 0301")]
    [TestCase("81 7f dfffffffff 00")]
    [TestCase("81 7f ddffffffff 00")]
    [TestCase("81 7f c9ffffffff 05 00")]
    [TestCase("81 7f 92 01")]
    public void Count_OfMoreThanThereIs_IsRefused(string hex) =>
        Assert.That(way.FailureOf<Scalars>(hex), Does.Contain("more than there is"));

    [TestCase("81 03 ddffffffff 01")]
    [TestCase("81 03 dcffff 01")]
    [TestCase("81 0e 92 a178")]
    [TestCase("81 11 dd7fffffff 80")]
    public void Count_OfMoreElementsThanThereAreBytes_IsRefused(string hex) =>
        Assert.That(way.FailureOf<Lists>(hex), Does.Contain("more than there is"));

    [Test]
    public void Counts_ThatPromiseTheSameBytes_AreRefusedBeforeAnythingIsReserved()
    {
        // Three bytes inside which two lists claim three elements each. The inner list is impossible, because two
        // elements of the outer one must follow.
        Assert.That(way.FailureOf<Node>("81 03 93 81 03 93 80 80 80"), Does.Contain("more than there is"));
    }

    [Test]
    public void Message_CutOffAnywhere_IsRefused()
    {
        byte[] whole = way.Write(Samples.Everything);

        for (int length = 0; length < whole.Length; length++)
        {
            Assert.That(
                () => way.Read<Everything>(whole[..length]),
                Throws.InstanceOf<MessagePackSerializationException>(),
                $"{length} bytes");
        }
    }

    [Test]
    public void Depth_OfMessages_IsThatOfProtobuf([Values(99, 100, 101, 150)] int depth)
    {
        AssertSameAsProtobuf(Nested(depth, new Node(), inner => new Node { Next = inner }));
    }

    [Test]
    public void Depth_OfMessagesInMaps_IsThatOfProtobuf([Values(49, 50, 51, 75)] int depth)
    {
        AssertSameAsProtobuf(Nested(depth, new Node(), inner => new Node { ByName = { ["x"] = inner } }));
    }

    [Test]
    public void Depth_OfAWrapperInTheDeepestMessage_IsThatOfProtobuf([Values(100, 101)] int depth)
    {
        AssertSameAsProtobuf(Nested(depth, new Node { Weight = 5 }, inner => new Node { Children = { inner } }));
    }

    [Test]
    public void Depth_OfValues_IsThatOfProtobuf([Values(30, 49, 50, 51)] int depth)
    {
        AssertSameAsProtobuf(Nested(depth, Value.ForNull(), inner => Value.ForList(inner)));
    }

    [Test]
    public void Depth_OfAMillionMessages_IsRefused()
    {
        byte[] bomb = [.. Enumerable.Repeat((byte[])[0x81, 0x02], 1_000_000).SelectMany(pair => pair), 0x80];

        Assert.That(
            () => way.Read<Node>(bomb),
            Throws.InstanceOf<MessagePackSerializationException>().With.Message.Contains("100 deep"));
    }

    [Test]
    public void Depth_OfSomethingUnknown_DoesNotMatter()
    {
        byte[] bomb = [0x81, 0x7f, .. Enumerable.Repeat((byte)0x91, 1_000_000), 0xc0];

        Assert.That(way.Read<Nothing>(bomb), Is.EqualTo(new Nothing()));
    }

    private static T Nested<T>(int depth, T innermost, Func<T, T> around) =>
        Enumerable.Range(0, depth).Aggregate(innermost, (inner, _) => around(inner));

    private static string FormatNameOf(string hex) =>
        MessagePackCode.ToFormatName(Convert.ToByte(hex.Split(' ')[1][..2], 16));

    private void AssertSameAsProtobuf<T>(T message)
        where T : class, IMessage<T>
    {
        byte[] bytes = way.Write(message);
        bool isAccepted = true;
        try
        {
            Codec.ThroughProtobuf(message);
        }
        catch (InvalidProtocolBufferException)
        {
            isAccepted = false;
        }

        Assert.That(
            () => way.Read<T>(bytes),
            isAccepted
                ? Is.EqualTo(message)
                : Throws.InstanceOf<MessagePackSerializationException>().With.Message.Contains("100 deep"));
    }
}
