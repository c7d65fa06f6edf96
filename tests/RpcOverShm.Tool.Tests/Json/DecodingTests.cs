using Google.Protobuf;
using Google.Protobuf.Reflection;
using Google.Protobuf.WellKnownTypes;
using RpcOverShm.Tool.Json;
using RpcOverShm.Tool.Tests.Protos;
using RpcOverShm.Tool.Tests.Support;

namespace RpcOverShm.Tool.Tests.Json;

/// <summary>Bytes as other writers may order them, and those that are no message.</summary>
public class DecodingTests
{
    [Test]
    public void Decode_OfPartsOfAMessage_MergesThem()
    {
        ByteString bytes = Joined(
            new Node3 { Next = new Node3 { Name = "a", Children = { new Node3() } } },
            new Node3 { Name = "x" },
            new Node3 { Next = new Node3 { Name = "b", Children = { new Node3() } } });

        CheckAgainstFormatter(bytes, Node3.Descriptor);
    }

    [Test]
    public void Decode_OfPartsOfAGroup_MergesThem()
    {
        ByteString bytes = Joined(
            new Singles2 { Needed = 1, Part = new Singles2.Types.Part { Size = 1, Names = { "a" } } },
            new Singles2 { Needed = 2, Part = new Singles2.Types.Part { Size = 2, Names = { "b" } } });

        CheckAgainstFormatter(bytes, Singles2.Descriptor);
    }

    [Test]
    public void Decode_OfSeveralCasesOfAOneof_ShowsTheLast()
    {
        ByteString bytes = Joined(
            new Choices3 { Message = new Singles3 { I32 = 1 } },
            new Choices3 { Number = 5 },
            new Choices3 { Message = new Singles3 { I64 = 2 } });

        CheckAgainstFormatter(bytes, Choices3.Descriptor);
    }

    [Test]
    public void Decode_OfAKeyThatStandsTwice_ShowsTheLast()
    {
        ByteString bytes = Joined(
            new Maps3 { Texts = { ["a"] = "1", ["b"] = "2" } }, new Maps3 { Texts = { ["a"] = "3" } });

        CheckAgainstFormatter(bytes, Maps3.Descriptor);
    }

    [Test]
    public void Decode_OfAnEntryWithoutKeyAndValue_ShowsTheDefaults()
    {
        // Field 14, texts, with an empty entry; field 17, messages, with an entry without its value.
        ByteString bytes = ByteString.CopyFrom(0x72, 0, 0x8a, 1, 2, 8, 4);

        CheckAgainstFormatter(bytes, Maps3.Descriptor);
    }

    // Packed and one by one, in both ways that the descriptor does not say.
    [Test]
    public void Decode_OfListsInTheOtherForm_ShowsThem()
    {
        // Field 3 of Lists3 is packed, field 4 is not.
        ByteString bytes = ByteString.CopyFrom(0x18, 1, 0x18, 2, 0x1a, 2, 3, 4, 0x22, 2, 5, 6, 0x20, 7);

        CheckAgainstFormatter(bytes, Lists3.Descriptor);
    }

    [Test]
    public void Decode_OfUnknownFieldsAndOtherWireTypes_LeavesThemOut()
    {
        // An unknown number, an unknown group, and text under the number of a whole number.
        ByteString bytes = ByteString.CopyFrom(0xa0, 6, 1, 0xab, 6, 8, 1, 0xac, 6, 0x1a, 1, 0x61, 0x20, 9);

        CheckAgainstFormatter(bytes, Singles3.Descriptor);
    }

    [Test]
    public void Decode_OfExtensions_LeavesThemOut()
    {
        var message = new Singles2 { Needed = 1 };
        message.SetExtension(Kinds2Extensions.Extra, 5);

        CheckAgainstFormatter(message.ToByteString(), Singles2.Descriptor);
    }

    [Test]
    public void Decode_OfAnUnknownTypeInAny_ShowsItsBytes() => Assert.That(
        Codec.Decode(
            new WellKnown3 { Any = new Any { TypeUrl = "a/no.Such", Value = ByteString.CopyFrom(1, 2) } }
                .ToByteString(),
            WellKnown3.Descriptor),
        Is.EqualTo("""{"any":{"@type":"a/no.Such","@value":"AQI="}}"""));

    [Test]
    public void Decode_OfATimeBeyondItsRange_NamesTheField() => Assert.That(
        () => Codec.Decode(
            new WellKnown3 { Timestamps = { new Timestamp(), new Timestamp { Seconds = long.MaxValue } } }
                .ToByteString(),
            WellKnown3.Descriptor),
        Throws.TypeOf<WireFormatException>().With.Message.StartsWith("timestamps[1]: this google.protobuf.Timestamp"));

    [TestCase(new byte[] { 0x7a, 5, 1 }, TestName = "Decode_OfBytesThatEndEarly_Fails")]
    [TestCase(new byte[] { 0x7b, 8 }, TestName = "Decode_OfAGroupThatEndsEarly_Fails")]
    [TestCase(new byte[] { 0x7c }, TestName = "Decode_OfAnEndWithoutAGroup_Fails")]
    [TestCase(new byte[] { 0x07 }, TestName = "Decode_OfNoWireType_Fails")]
    [TestCase(
        new byte[] { 0x18, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1 },
        TestName = "Decode_OfALongNumber_Fails")]
    public void Decode_OfMalformedBytes_Fails(byte[] bytes) => Assert.That(
        () => Codec.Decode(ByteString.CopyFrom(bytes), Singles3.Descriptor),
        Throws.TypeOf<WireFormatException>().With.Message.Contains("the bytes are no rpcovershm.tool.test.Singles3"));

    [Test]
    public void Decode_OfTooManyMessagesInsideEachOther_Fails()
    {
        ByteString bytes = ByteString.Empty;
        for (int i = 0; i < 150; i++)
        {
            using var buffer = new MemoryStream();
            using var output = new CodedOutputStream(buffer);
            output.WriteTag(Node3.NextFieldNumber, WireFormat.WireType.LengthDelimited);
            output.WriteBytes(bytes);
            output.Flush();
            bytes = ByteString.CopyFrom(buffer.ToArray());
        }

        Assert.That(
            () => Codec.Decode(bytes, Node3.Descriptor),
            Throws.TypeOf<WireFormatException>().With.Message.Contains("more than 100 messages"));
    }

    private static ByteString Joined(params IMessage[] parts) =>
        ByteString.CopyFrom([.. parts.SelectMany(part => part.ToByteArray())]);

    private static void CheckAgainstFormatter(ByteString bytes, MessageDescriptor type)
    {
        string expected = JsonFormatter.Default.Format(type.Parser.ParseFrom(bytes));

        string json = Codec.Decode(bytes, type);

        Assert.That(Codec.AreSame(json, expected), Is.True, $"{json}\n{expected}");
    }
}
