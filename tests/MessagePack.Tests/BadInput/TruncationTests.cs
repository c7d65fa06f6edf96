using MessagePack.Tests.Fakes;

namespace MessagePack.Tests.BadInput;

/// <summary>A message that ends too early is told as such, wherever it ends.</summary>
public class TruncationTests
{
    private static IEnumerable<TestCaseData> Values() => MessageSamples.All.Select(
        sample => new TestCaseData(sample).SetArgDisplayNames(sample.Type.ToString()));

    [TestCaseSource(nameof(Values))]
    public void Message_CutAtEveryByte_IsTheEndOfTheStream(object sample)
    {
        (Type type, byte[] bytes) = (MessageSample)sample;
        for (int length = 0; length < bytes.Length; length++)
        {
            ReadOnlyMemory<byte> part = bytes.AsMemory(0, length);
            Exception? thrown = Assert.Catch(() => MessagePackSerializer.Deserialize(type, part));

            Assert.That(thrown, Is.InstanceOf<MessagePackSerializationException>());
            Assert.That(thrown!.GetBaseException(), Is.InstanceOf<EndOfStreamException>(), $"{length} bytes");
        }
    }

    [TestCaseSource(nameof(Values))]
    public void Message_WithMoreBehindIt_IsReadToItsOwnEnd(object sample)
    {
        (Type type, byte[] bytes) = (MessageSample)sample;
        var reader = new MessagePackReader(bytes.Concat(new byte[] { 0xc1, 0xff }).ToArray());
        MessagePackSerializer.Deserialize(type, ref reader);

        Assert.That(reader.Consumed, Is.EqualTo(bytes.Length));
    }

    [TestCaseSource(nameof(Values))]
    public void Message_OfASample_ComesBackAsItWas(object sample)
    {
        (Type type, byte[] bytes) = (MessageSample)sample;
        object? value = MessagePackSerializer.Deserialize(type, bytes);

        Assert.That(Message.Hex(MessagePackSerializer.Serialize(type, value)), Is.EqualTo(Message.Hex(bytes)));
    }
}
