using System.Buffers;
using MessagePack.Tests.Fakes;

namespace MessagePack.Tests.Values;

/// <summary>The serializer's ways in and out, and what it makes of failures.</summary>
public class SerializerTests
{
    // Not known when the test is compiled, as where somebody needs these methods.
    private static readonly Type s_intType = typeof(int);

    private static readonly byte[] s_twoMessages = Message.Bytes("920102 a161");

    [Test]
    public void Message_WithMoreBehindIt_SaysHowMuchWasRead()
    {
        List<int> first = MessagePackSerializer.Deserialize<List<int>>(s_twoMessages, out int bytesRead);
        string second = MessagePackSerializer.Deserialize<string>(
            s_twoMessages.AsMemory(bytesRead), MessagePackSerializerOptions.Standard, out int bytesReadThen);

        Assert.That((first, bytesRead), Is.EqualTo((new List<int> { 1, 2 }, 3)));
        Assert.That((second, bytesReadThen), Is.EqualTo(("a", 2)));
    }

    [Test]
    public void Value_WrittenIntoAWriter_FollowsWhatIsThere()
    {
        Assert.That(
            Message.Written((ref writer) =>
            {
                writer.WriteArrayHeader(2);
                MessagePackSerializer.Serialize(ref writer, "a");
                MessagePackSerializer.Serialize(s_intType, ref writer, 5);
            }),
            Is.EqualTo("92a16105"));
    }

    [Test]
    public void Value_WrittenIntoABuffer_IsThereAtOnce()
    {
        var buffer = new ArrayBufferWriter<byte>();
        MessagePackSerializer.Serialize(buffer, 5);
        MessagePackSerializer.Serialize(s_intType, buffer, 6);

        Assert.That(buffer.WrittenSpan.ToArray(), Is.EqualTo(new byte[] { 5, 6 }));
    }

    [Test]
    public async Task Stream_WithTwoValues_IsLeftBehindTheFirst()
    {
        using var stream = new MemoryStream();
        await MessagePackSerializer.SerializeAsync(stream, new[] { 1, 2 });
        MessagePackSerializer.Serialize(stream, "a");
        await MessagePackSerializer.SerializeAsync(s_intType, stream, 5);
        MessagePackSerializer.Serialize(s_intType, stream, 6);
        stream.Position = 0;

        Assert.That(await MessagePackSerializer.DeserializeAsync<int[]>(stream), Is.EqualTo(new[] { 1, 2 }));
        Assert.That(stream.Position, Is.EqualTo(3));
        Assert.That(MessagePackSerializer.Deserialize<string>(stream), Is.EqualTo("a"));
        Assert.That(await MessagePackSerializer.DeserializeAsync(s_intType, stream), Is.EqualTo(5));
        Assert.That(MessagePackSerializer.Deserialize(s_intType, stream), Is.EqualTo(6));
    }

    [Test]
    public void Stream_ThatFails_IsAFailureOfTheSerializer()
    {
        var stream = new MemoryStream([], writable: false);

        Assert.That(
            () => MessagePackSerializer.Serialize(stream, 5),
            Throws.InstanceOf<MessagePackSerializationException>().With.InnerException.Not.Null);
        Assert.That(
            async () => await MessagePackSerializer.SerializeAsync(stream, 5),
            Throws.InstanceOf<MessagePackSerializationException>().With.InnerException.Not.Null);
    }

    [Test]
    public void Token_Cancelled_EndsBothWays()
    {
        var cancelled = new CancellationToken(canceled: true);

        Assert.That(
            () => MessagePackSerializer.Serialize(new List<string> { "a" }, cancellationToken: cancelled),
            Throws.InstanceOf<MessagePackSerializationException>()
                .With.InnerException.InstanceOf<OperationCanceledException>());
        Assert.That(
            () => MessagePackSerializer.Deserialize<List<string>>(
                Message.Bytes("91a161"), cancellationToken: cancelled),
            Throws.InstanceOf<MessagePackSerializationException>()
                .With.InnerException.InstanceOf<OperationCanceledException>());
    }

    [Test]
    public void Failure_OfAValue_NamesItsTypeAndKeepsItsCause()
    {
        Assert.That(
            () => Message.Deserialized<byte>("cd0100"),
            Throws.InstanceOf<MessagePackSerializationException>()
                .With.Message.Contains("System.Byte")
                .And.InnerException.InstanceOf<OverflowException>());
        Assert.That(
            () => Message.Deserialized<int>("a161"),
            Throws.InstanceOf<MessagePackSerializationException>()
                .With.InnerException.InstanceOf<MessagePackSerializationException>());
    }

    [Test]
    public void Json_OfEveryKind_IsWrittenAndReadBack()
    {
        const string Json = "{\"a\":[1,-2,1.5,true,false,null,\"q\\\"\\\\\\n\"],\"b\":{}}";

        Assert.That(MessagePackSerializer.ConvertToJson(MessagePackSerializer.ConvertFromJson(Json)), Is.EqualTo(Json));
        Assert.That(MessagePackSerializer.SerializeToJson(new[] { "a", "b" }), Is.EqualTo("[\"a\",\"b\"]"));
        Assert.That(MessagePackSerializer.ConvertToJson(Message.Bytes("d50501ff")), Is.EqualTo("[5,\"Af8=\"]"));
        Assert.That(
            MessagePackSerializer.ConvertToJson(Message.Bytes("d6ff00000000")),
            Is.EqualTo("\"1970-01-01T00:00:00.0000000Z\""));
        Assert.That(MessagePackSerializer.ConvertToJson(Message.Bytes("ca3fc00000")), Is.EqualTo("1.5"));
        Assert.That(MessagePackSerializer.ConvertToJson(Message.Bytes("c403010203")), Is.EqualTo("\"AQID\""));
        Assert.That(MessagePackSerializer.ConvertToJson(Message.Bytes("810503")), Is.EqualTo("{\"5\":3}"));
        Assert.That(
            MessagePackSerializer.ConvertToJson(Message.Bytes("cfffffffffffffffff")),
            Is.EqualTo("18446744073709551615"));
    }

    [TestCase("\"\\ud800\"")]
    [TestCase("\"\\udc00x\"")]
    [TestCase("\"\ud800\"")]
    [TestCase("{\"\\ud800\":1}")]
    public void Json_OfHalfACharacter_IsReplacedOrRefused(string json)
    {
        try
        {
            Assert.That(Message.Hex(MessagePackSerializer.ConvertFromJson(json)), Does.Contain("efbfbd"));
        }
        catch (MessagePackSerializationException)
        {
        }
    }

    [Test]
    public void Json_ThroughWritersAndReaders_IsTheSame()
    {
        using var json = new StringWriter();
        var reader = new MessagePackReader(Message.Bytes("9105"));
        MessagePackSerializer.ConvertToJson(ref reader, json);
        using var text = new StringReader("[5]");

        Assert.That(json.ToString(), Is.EqualTo("[5]"));
        Assert.That(
            Message.Written((ref writer) => MessagePackSerializer.ConvertFromJson(text, ref writer)),
            Is.EqualTo("9105"));
    }
}
