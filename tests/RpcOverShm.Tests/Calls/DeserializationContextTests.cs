using System.Buffers;
using System.Text;
using Grpc.Core;
using RpcOverShm.Buffers;
using RpcOverShm.Calls;

namespace RpcOverShm.Tests.Calls;

public class DeserializationContextTests
{
    [TestCase("")]
    [TestCase("abc")]
    public void Payload_OfAnyLength_IsTheBytesInBothForms(string text)
    {
        byte[] bytes = Encoding.ASCII.GetBytes(text);

        Assert.That(Deserialize(bytes, context => context.PayloadAsNewBuffer()), Is.EqualTo(bytes));
        Assert.That(Deserialize(bytes, context => context.PayloadAsReadOnlySequence().ToArray()), Is.EqualTo(bytes));
        Assert.That(Deserialize(bytes, context => new byte[context.PayloadLength]), Has.Length.EqualTo(bytes.Length));
    }

    [Test]
    public void Payload_TakenTwice_IsAnInvalidOperation()
    {
        Assert.That(
            () => Deserialize("abc"u8, context =>
            {
                context.PayloadAsNewBuffer();
                return context.PayloadAsReadOnlySequence().ToArray();
            }),
            Throws.InvalidOperationException);
    }

    [Test]
    public void Payload_AfterTheDeserializer_IsNotThereAnyMore()
    {
        DeserializationContext? kept = null;
        Deserialize("abc"u8, context =>
        {
            kept = context;
            return [];
        });

        Assert.That(() => kept!.PayloadAsNewBuffer(), Throws.InvalidOperationException);
        Assert.That(kept!.PayloadLength, Is.Zero);
    }

    [Test]
    public void Deserialize_ThatThrows_ReleasesTheBytesAndPassesItOn()
    {
        var bytes = new ReceivedMessage("abc"u8);
        var marshaller = new Marshaller<byte[]>(
            static (_, _) => { }, new Func<DeserializationContext, byte[]>(_ => throw new FormatException("mine")));

        Assert.That(
            () => FrameDeserializationContext.Deserialize(marshaller, ref bytes), Throws.TypeOf<FormatException>());
        Assert.That(bytes.IsEmpty, "The bytes have been given away.");
    }

    [Test]
    public void Deserialize_WithinADeserializer_UsesAnotherContext()
    {
        byte[] outer = Deserialize("outer"u8, context =>
        {
            byte[] inner = Deserialize("inner"u8, nested => nested.PayloadAsNewBuffer());
            return [.. context.PayloadAsNewBuffer(), .. inner];
        });

        Assert.That(outer, Is.EqualTo("outerinner"u8.ToArray()));
    }

    [Test]
    public void Deserialize_WithAPlainMarshaller_Works()
    {
        var marshaller = Marshallers.Create(static (byte[] bytes) => bytes, static bytes => bytes);
        var bytes = new ReceivedMessage("abc"u8);

        Assert.That(FrameDeserializationContext.Deserialize(marshaller, ref bytes), Is.EqualTo("abc"u8.ToArray()));
    }

    [Test]
    public void Deserialize_OfMessagesThatAreNotSmall_NotesHowTheyWereTaken()
    {
        PayloadAccessHint hint = PayloadAccessHint.Of<Taken>();
        var asArray = new Marshaller<Taken>(static (_, _) => { }, static context => new(context.PayloadAsNewBuffer()));
        var asSequence = new Marshaller<Taken>(
            static (_, _) => { }, static context => new(context.PayloadAsReadOnlySequence().ToArray()));
        var seen = new List<bool>();

        foreach ((Marshaller<Taken> marshaller, int length) in new[]
        {
            (asArray, ReceivedMessage.SmallestArrayBytes - 1),
            (asArray, ReceivedMessage.SmallestArrayBytes),
            (asSequence, ReceivedMessage.SmallestArrayBytes - 1),
            (asSequence, ReceivedMessage.SmallestArrayBytes),
        })
        {
            ReceivedMessage bytes = ReceivedMessage.Of(new byte[length], hint);
            byte[] taken = FrameDeserializationContext.Deserialize(marshaller, ref bytes).Bytes;
            Assert.That(taken, Has.Length.EqualTo(length));
            seen.Add(hint.IsAsArray);
        }

        Assert.That(seen, Is.EqualTo((bool[])[false, true, true, false]));
    }

    [Test]
    public void Deserialize_OfAnEncodedMessage_NotesHowTheMessageItselfWasTaken()
    {
        var marshaller = new Marshaller<Decoded>(
            static (_, _) => { }, static context => new(context.PayloadAsNewBuffer()));
        var bytes = new ReceivedMessage(new byte[10_000]); // The first byte marks the message as not encoded.

        Decoded decoded = FrameDeserializationContext.Deserialize(
            MessageEncoding.Reading(marshaller, limitBytes: null, "server"), ref bytes);

        Assert.That(decoded.Bytes, Has.Length.EqualTo(9999));
        Assert.That(PayloadAccessHint.Of<Decoded>().IsAsArray);
    }

    private static byte[] Deserialize(ReadOnlySpan<byte> payload, Func<DeserializationContext, byte[]> deserializer)
    {
        var bytes = new ReceivedMessage(payload);
        var marshaller = new Marshaller<byte[]>(static (_, _) => { }, deserializer);
        return FrameDeserializationContext.Deserialize(marshaller, ref bytes);
    }

    private sealed record Taken(byte[] Bytes);

    private sealed record Decoded(byte[] Bytes);
}
