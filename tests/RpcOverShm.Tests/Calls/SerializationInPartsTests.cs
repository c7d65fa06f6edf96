using System.Buffers;
using Grpc.Core;
using RpcOverShm.Calls;
using RpcOverShm.Connections;

namespace RpcOverShm.Tests.Calls;

/// <summary>Large messages that are sent while they are being serialized.</summary>
public class SerializationInPartsTests
{
    private const int Chunk = FrameWriter.MaxPartBytes;
    private const int Large = 300_000;

    private readonly byte[] _message = BytePattern.Of(Large);
    private readonly RecordingParts _parts = new(int.MaxValue);

    [Test]
    public void Serialize_OfALargeMessage_SendsAllButItsEnd()
    {
        byte[] rest = Serialize(Writing(Large, Large));

        Assert.That(_parts.WholeLength, Is.EqualTo(Large));
        Assert.That(rest, Has.Length.InRange(1, Chunk));
        SameBytes.Assert([.. _parts.Bytes.Concat(rest)], _message);
    }

    [Test]
    public void Serialize_OfAnArray_SendsAllButItsLastByte()
    {
        byte[] rest = Serialize((_, context) => context.Complete(_message));

        Assert.That(_parts.Calls, Is.EqualTo(1), "From where it lies.");
        Assert.That(rest, Has.Length.EqualTo(1));
        SameBytes.Assert([.. _parts.Bytes.Concat(rest)], _message);
    }

    [TestCase(0)]
    [TestCase(1)]
    [TestCase(Chunk)]
    [TestCase((2 * Chunk) + 7)]
    public void Serialize_BeyondTheRoom_CollectsTheRest(int room)
    {
        var parts = new RecordingParts(room);

        byte[] rest = Serialize(Writing(Large, Large), parts);

        Assert.That(parts.Bytes, Has.Length.EqualTo(room));
        SameBytes.Assert([.. parts.Bytes.Concat(rest)], _message);
        Assert.That(parts.Calls, Is.EqualTo((room / Chunk) + 1), "Once refused, it is not tried again.");
    }

    [Test]
    public void Serialize_WithAnyWritesAndAnyRoom_LosesNothing()
    {
        Random random = TestSeed.NewRandom();
        for (int round = 0; round < 300; round++)
        {
            byte[] message = BytePattern.Of(random.Next(2 * Chunk, 6 * Chunk));
            var parts = new RecordingParts(random.Next(2) == 0 ? int.MaxValue : random.Next(message.Length));
            byte[] rest = Serialize(
                (_, context) =>
                {
                    context.SetPayloadLength(message.Length);
                    WriteInPieces(context.GetBufferWriter(), message, random);
                    context.Complete();
                },
                parts);

            SameBytes.Assert([.. parts.Bytes.Concat(rest)], message);
        }
    }

    [Test]
    public void Serialize_OfASmallMessage_SendsNothing()
    {
        byte[] small = BytePattern.Of((2 * Chunk) - 1);

        Assert.That(Serialize((_, context) => context.Complete(small)), Is.EqualTo(small));
        Assert.That(_parts.Calls, Is.Zero);
    }

    [Test]
    public void Serialize_OfAnUnannouncedLength_SendsNothing()
    {
        SameBytes.Assert(Serialize(Writing(null, Large)), _message);
        Assert.That(_parts.Calls, Is.Zero);
    }

    [TestCase(Large - 1)]
    [TestCase(Large + 1)]
    [TestCase(Large - (2 * Chunk))]
    [TestCase(Large + (2 * Chunk))]
    public void Serialize_OfAnotherLengthThanAnnounced_ThrowsAndSendsNoMore(int announced)
    {
        Assert.That(
            () => Serialize(Writing(announced, Large)),
            Throws.InvalidOperationException.With.Message.Contains($"announced a message of {announced} bytes"));
        Assert.That(_parts.Bytes, Has.Length.LessThan(announced));
    }

    [Test]
    public void Serialize_OfAnArrayOfAnotherLengthThanAnnounced_ThrowsAndSendsNothing()
    {
        Action<string, SerializationContext> serializer = (_, context) =>
        {
            context.SetPayloadLength(Large + 1);
            context.Complete(_message);
        };

        Assert.That(() => Serialize(serializer), Throws.InvalidOperationException);
        Assert.That(_parts.Calls, Is.Zero);
    }

    [Test]
    public void Serialize_OfALengthThatIsSaidAnew_BelievesTheLast()
    {
        Action<string, SerializationContext> serializer = (_, context) => context.SetPayloadLength(Large);

        byte[] small = Serialize(serializer + Writing(Chunk + 10, Chunk + 10));

        Assert.That(_parts.Calls, Is.Zero);
        Assert.That(small, Is.EqualTo(_message[..(Chunk + 10)]));
    }

    [Test]
    public void Serialize_BeyondTheLimit_SendsNothing()
    {
        Assert.That(
            () => Serialize(Writing(Large, Large), limit: Large - 1), Throws.TypeOf<MessageTooLargeException>());
        Assert.That(_parts.Calls, Is.Zero);
    }

    [Test]
    public void Serialize_AfterOneThatFailedHalfWay_StartsAfresh()
    {
        Action<string, SerializationContext> failing = (_, context) =>
        {
            context.SetPayloadLength(Large);
            context.GetBufferWriter().Write(_message.AsSpan(0, Large / 2));
            throw new FormatException("half-way");
        };
        Assert.That(() => Serialize(failing), Throws.TypeOf<FormatException>());
        Assert.That(_parts.Bytes, Is.Not.Empty);

        byte[] next = Serialize((_, context) => context.Complete([1, 2, 3]), new RecordingParts(int.MaxValue));
        Assert.That(next, Is.EqualTo(new byte[] { 1, 2, 3 }));
    }

    [Test]
    public void Serialize_WhileAnotherIsHalfWay_MixesNothing()
    {
        var inner = new RecordingParts(int.MaxValue);
        byte[] innerRest = [];

        byte[] outerRest = Serialize((_, context) =>
        {
            context.SetPayloadLength(Large);
            context.GetBufferWriter().Write(_message.AsSpan(0, Large / 2));
            innerRest = Serialize(Writing(Large, Large), inner);
            context.GetBufferWriter().Write(_message.AsSpan(Large / 2));
            context.Complete();
        });

        SameBytes.Assert([.. _parts.Bytes.Concat(outerRest)], _message);
        SameBytes.Assert([.. inner.Bytes.Concat(innerRest)], _message);
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

    /// <summary>Returns a serializer that announces a length, if any, and writes that much of the message.</summary>
    private Action<string, SerializationContext> Writing(int? announced, int written) => (_, context) =>
    {
        if (announced is not null)
        {
            context.SetPayloadLength(announced.Value);
        }

        context.GetBufferWriter().Write(_message.AsSpan(0, written));
        context.Complete();
    };

    private byte[] Serialize(
        Action<string, SerializationContext> serializer, RecordingParts? parts = null, int? limit = null)
    {
        parts ??= _parts;
        var marshaller = new Marshaller<string>(serializer, static _ => "");
        using FrameSerializationContext context =
            FrameSerializationContext.Serialize(marshaller, "message", limit, parts);
        Assert.That(context.HasSentParts, Is.EqualTo(parts.Bytes.Length > 0));
        return context.Bytes.WrittenSpan.ToArray();
    }
}
