using System.Buffers;
using Grpc.Core;
using RpcOverShm.Calls;
using RpcOverShm.Sending;

namespace RpcOverShm.Tests.Calls;

/// <summary>Large messages that are sent while they are being serialized.</summary>
public class SerializationInPartsTests
{
    private const int Chunk = FrameWriter.ChunkBytes;
    private const int Large = 300_000;

    private readonly byte[] _message = Pattern(Large);

    [Test]
    public void Serialize_OfALargeMessage_SendsAllButItsEnd()
    {
        var parts = new RecordingParts(int.MaxValue);

        byte[] rest = Serialize(WriteAnnounced, parts);

        Assert.That(parts.WholeLength, Is.EqualTo(Large));
        Assert.That(rest, Has.Length.InRange(1, Chunk));
        Assert.That(parts.Bytes.Concat(rest), Is.EqualTo(_message));
    }

    [Test]
    public void Serialize_OfAnArray_SendsAllButItsLastByte()
    {
        var parts = new RecordingParts(int.MaxValue);

        byte[] rest = Serialize((_, context) => context.Complete(_message), parts);

        Assert.That(parts.Calls, Is.EqualTo(1), "From where it lies.");
        Assert.That(rest, Has.Length.EqualTo(1));
        Assert.That(parts.Bytes.Concat(rest), Is.EqualTo(_message));
    }

    [TestCase(0)]
    [TestCase(1)]
    [TestCase(Chunk)]
    [TestCase((2 * Chunk) + 7)]
    public void Serialize_BeyondTheRoom_CollectsTheRest(int room)
    {
        var parts = new RecordingParts(room);

        byte[] rest = Serialize(WriteAnnounced, parts);

        Assert.That(parts.Bytes, Has.Length.EqualTo(room));
        Assert.That(parts.Bytes.Concat(rest), Is.EqualTo(_message));
        Assert.That(parts.Calls, Is.EqualTo((room / Chunk) + 1), "Once refused, it is not tried again.");
    }

    [Test]
    public void Serialize_WithAnyWritesAndAnyRoom_LosesNothing()
    {
        Random random = TestSeed.NewRandom();
        for (int round = 0; round < 300; round++)
        {
            byte[] message = Pattern(random.Next(2 * Chunk, 6 * Chunk));
            var parts = new RecordingParts(random.Next(2) == 0 ? int.MaxValue : random.Next(message.Length));
            byte[] rest = Serialize(
                (_, context) =>
                {
                    context.SetPayloadLength(message.Length);
                    WriteInPieces(context.GetBufferWriter(), message, random);
                    context.Complete();
                },
                parts);

            Assert.That(parts.Bytes.Concat(rest).ToArray().AsSpan().SequenceEqual(message));
        }
    }

    [Test]
    public void Serialize_OfASmallMessage_SendsNothing()
    {
        var parts = new RecordingParts(int.MaxValue);
        byte[] small = Pattern((2 * Chunk) - 1);

        Assert.That(Serialize((_, context) => context.Complete(small), parts), Is.EqualTo(small));
        Assert.That(parts.Calls, Is.Zero);
    }

    [Test]
    public void Serialize_OfAnUnannouncedLength_SendsNothing()
    {
        var parts = new RecordingParts(int.MaxValue);

        byte[] whole = Serialize(
            (_, context) =>
            {
                context.GetBufferWriter().Write(_message);
                context.Complete();
            },
            parts);

        Assert.That(parts.Calls, Is.Zero);
        Assert.That(whole, Is.EqualTo(_message));
    }

    [TestCase(Large - 1)]
    [TestCase(Large + 1)]
    [TestCase(Large - (2 * Chunk))]
    [TestCase(Large + (2 * Chunk))]
    public void Serialize_OfAnotherLengthThanAnnounced_ThrowsAndSendsNoMore(int announced)
    {
        var parts = new RecordingParts(int.MaxValue);

        Assert.That(
            () => Serialize(
                (_, context) =>
                {
                    context.SetPayloadLength(announced);
                    context.GetBufferWriter().Write(_message);
                    context.Complete();
                },
                parts),
            Throws.InvalidOperationException.With.Message.Contains($"announced a message of {announced} bytes"));
        Assert.That(parts.Bytes, Has.Length.LessThan(announced));
    }

    [Test]
    public void Serialize_OfAnArrayOfAnotherLengthThanAnnounced_ThrowsAndSendsNothing()
    {
        var parts = new RecordingParts(int.MaxValue);

        Assert.That(
            () => Serialize(
                (_, context) =>
                {
                    context.SetPayloadLength(Large + 1);
                    context.Complete(_message);
                },
                parts),
            Throws.InvalidOperationException);
        Assert.That(parts.Calls, Is.Zero);
    }

    [Test]
    public void Serialize_OfALengthThatIsSaidAnew_BelievesTheLast()
    {
        var parts = new RecordingParts(int.MaxValue);

        byte[] small = Serialize(
            (_, context) =>
            {
                context.SetPayloadLength(Large);
                context.SetPayloadLength(Chunk + 10);
                context.GetBufferWriter().Write(_message.AsSpan(0, Chunk + 10));
                context.Complete();
            },
            parts);

        Assert.That(parts.Calls, Is.Zero);
        Assert.That(small, Is.EqualTo(_message[..(Chunk + 10)]));
    }

    [Test]
    public void Serialize_BeyondTheLimit_SendsNothing()
    {
        var parts = new RecordingParts(int.MaxValue);

        Assert.That(
            () => Serialize(WriteAnnounced, parts, limit: Large - 1), Throws.TypeOf<MessageTooLargeException>());
        Assert.That(parts.Calls, Is.Zero);
    }

    [Test]
    public void Serialize_AfterOneThatFailedHalfWay_StartsAfresh()
    {
        var failing = new RecordingParts(int.MaxValue);
        Assert.That(
            () => Serialize(
                (_, context) =>
                {
                    context.SetPayloadLength(Large);
                    context.GetBufferWriter().Write(_message.AsSpan(0, Large / 2));
                    throw new FormatException("half-way");
                },
                failing),
            Throws.TypeOf<FormatException>());
        Assert.That(failing.Bytes, Is.Not.Empty);

        byte[] next = Serialize((_, context) => context.Complete([1, 2, 3]), parts: null);
        Assert.That(next, Is.EqualTo(new byte[] { 1, 2, 3 }));
    }

    [Test]
    public void Serialize_WhileAnotherIsHalfWay_MixesNothing()
    {
        var outer = new RecordingParts(int.MaxValue);
        var inner = new RecordingParts(int.MaxValue);
        byte[] innerRest = [];

        byte[] outerRest = Serialize(
            (_, context) =>
            {
                context.SetPayloadLength(Large);
                context.GetBufferWriter().Write(_message.AsSpan(0, Large / 2));
                innerRest = Serialize(WriteAnnounced, inner);
                context.GetBufferWriter().Write(_message.AsSpan(Large / 2));
                context.Complete();
            },
            outer);

        Assert.That(outer.Bytes.Concat(outerRest), Is.EqualTo(_message));
        Assert.That(inner.Bytes.Concat(innerRest), Is.EqualTo(_message));
    }

    private static byte[] Pattern(int length)
    {
        byte[] bytes = new byte[length];
        new BytePattern(3).Fill(bytes);
        return bytes;
    }

    private static void WriteInPieces(IBufferWriter<byte> to, ReadOnlySpan<byte> message, Random random)
    {
        while (!message.IsEmpty)
        {
            int hint = random.Next(4) == 0 ? random.Next(2 * Chunk) : random.Next(300);
            Span<byte> span = random.Next(2) == 0 ? to.GetSpan(hint) : to.GetMemory(hint).Span;
            Assert.That(span.Length, Is.GreaterThanOrEqualTo(Math.Max(hint, 1)));
            int count = Math.Min(random.Next(span.Length + 1), message.Length);
            message[..count].CopyTo(span);
            to.Advance(count);
            message = message[count..];
        }
    }

    private static byte[] Serialize(
        Action<string, SerializationContext> serializer, IMessageChunkSink? parts, int? limit = null)
    {
        var marshaller = new Marshaller<string>(serializer, static _ => "");
        using FrameSerializationContext context =
            FrameSerializationContext.Serialize(marshaller, "message", limit, parts);
        Assert.That(context.HasSentParts, Is.EqualTo(parts is RecordingParts { Bytes.Length: > 0 }));
        return context.Bytes.WrittenSpan.ToArray();
    }

    private void WriteAnnounced(string message, SerializationContext context)
    {
        context.SetPayloadLength(Large);
        context.GetBufferWriter().Write(_message);
        context.Complete();
    }
}
