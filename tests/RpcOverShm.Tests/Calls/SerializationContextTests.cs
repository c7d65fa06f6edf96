using System.Buffers;
using Grpc.Core;
using RpcOverShm.Buffers;
using RpcOverShm.Calls;

namespace RpcOverShm.Tests.Calls;

public class SerializationContextTests
{
    [Test]
    public void Serialize_WithAnArrayThatIsUsedOnAfterwards_HasItsBytes()
    {
        byte[] bytes = Serialize((_, context) =>
        {
            byte[] secret = [1, 2, 3];
            context.Complete(secret);
            Array.Clear(secret);
        });

        Assert.That(bytes, Is.EqualTo((byte[])[1, 2, 3]));
    }

    [TestCase(10_000, true)]
    [TestCase(MessagePartWriter.SmallestThatLiesThere - 1, true)]
    [TestCase(MessagePartWriter.SmallestThatLiesThere, false, Description = "It has to wait in any case.")]
    public void Serialize_WithTheMessageItself_CopiesNoneThatIsARecord(int length, bool isBorrowed)
    {
        byte[] array = new byte[length];
        Marshaller<byte[]> marshaller = Marshallers.Create(
            static (byte[] message, SerializationContext context) =>
            {
                var ours = (FrameSerializationContext)context;
                Assert.That(ours.IsMessage(message));
                Assert.That(ours.IsMessage(new byte[message.Length]), Is.False);
                ours.CompleteWithMessage(message);
            },
            static context => context.PayloadAsNewBuffer());

        FrameSerializationContext context =
            FrameSerializationContext.Serialize(marshaller, array, limitBytes: null, parts: null);
        PooledBufferWriter bytes = context.Bytes;

        Assert.That(bytes.WrittenSpan == array.AsSpan(), Is.EqualTo(isBorrowed), "The span is the array's.");
        Assert.That(bytes.WrittenSpan.SequenceEqual(array));
        Assert.That(context.MayGoInParts, Is.Not.EqualTo(isBorrowed));
        context.Dispose();
        Assert.That(bytes.Length, Is.Zero);
        Assert.That(bytes.GetSpan(1).Overlaps(array), Is.False, "It no longer uses the array.");
    }

    [Test]
    public void Serialize_WithTheRawCodec_CopiesNothing()
    {
        byte[] array = new byte[10_000];
        Marshaller<byte[]> raw =
            ShmRawCodec.Instance.CreateMarshaller(Marshallers.Create<byte[]>(bytes => bytes, bytes => bytes))!;

        using FrameSerializationContext context =
            FrameSerializationContext.Serialize(raw, array, limitBytes: null, parts: null);

        Assert.That(context.Bytes.WrittenSpan == array.AsSpan(), "The span is the array's.");
    }

    [Test]
    public void Complete_AfterTheSerializerHasReturned_IsRefusedAndHarmsNothing()
    {
        SerializationContext? kept = null;
        Assert.That(() => Serialize((_, context) => kept = context), Throws.InvalidOperationException);

        Assert.That(() => kept!.Complete([1]), Throws.InvalidOperationException);
        Assert.That(() => kept!.GetBufferWriter(), Throws.InvalidOperationException);
        Assert.That(Serialize((_, context) => context.Complete([2])), Is.EqualTo((byte[])[2]));
    }

    [Test]
    public void Serialize_WithTheWriter_HasWhatWasWritten()
    {
        byte[] bytes = Serialize((_, context) =>
        {
            IBufferWriter<byte> writer = context.GetBufferWriter();
            writer.Write("ab"u8);
            Assert.That(context.GetBufferWriter(), Is.SameAs(writer));
            writer.Write("c"u8);
            context.Complete();
        });

        Assert.That(bytes, Is.EqualTo("abc"u8.ToArray()));
    }

    [Test]
    public void Serialize_WithAnAnnouncedLength_HasRoomForItAtOnce()
    {
        byte[] bytes = Serialize((_, context) =>
        {
            context.SetPayloadLength(100_000);
            IBufferWriter<byte> writer = context.GetBufferWriter();
            Assert.That(writer.GetSpan().Length, Is.GreaterThanOrEqualTo(100_000));
            writer.Advance(100_000);
            context.Complete();
        });

        Assert.That(bytes, Has.Length.EqualTo(100_000));
    }

    [Test]
    public void Serialize_OfNoBytes_IsAMessage()
    {
        Assert.That(Serialize((_, context) => context.Complete([])), Is.Empty);
        Assert.That(
            Serialize((_, context) =>
            {
                context.SetPayloadLength(0);
                context.GetBufferWriter();
                context.Complete();
            }),
            Is.Empty);
    }

    private static readonly Dictionary<string, Action<string, SerializationContext>> s_wrongOrders = new()
    {
        ["nothing"] = (_, _) => { },
        ["writer alone"] = (_, context) => context.GetBufferWriter(),
        ["complete without writer"] = (_, context) => context.Complete(),
        ["complete twice"] = (_, context) =>
        {
            context.GetBufferWriter();
            context.Complete();
            context.Complete();
        },
        ["two arrays"] = (_, context) =>
        {
            context.Complete([1]);
            context.Complete([2]);
        },
        ["array after writer"] = (_, context) =>
        {
            context.GetBufferWriter();
            context.Complete([1]);
        },
        ["writer after array"] = (_, context) =>
        {
            context.Complete([1]);
            context.GetBufferWriter();
        },
        ["length after writer"] = (_, context) =>
        {
            context.GetBufferWriter();
            context.SetPayloadLength(1);
        },
        ["length after array"] = (_, context) =>
        {
            context.Complete([1]);
            context.SetPayloadLength(1);
        },
        ["less than announced"] = (_, context) =>
        {
            context.SetPayloadLength(2);
            context.GetBufferWriter().Write("a"u8);
            context.Complete();
        },
        ["more than announced"] = (_, context) =>
        {
            context.SetPayloadLength(1);
            context.GetBufferWriter().Write("abc"u8);
            context.Complete();
        },
        ["array of another length than announced"] = (_, context) =>
        {
            context.SetPayloadLength(1);
            context.Complete([1, 2]);
        },
    };

    private static IEnumerable<string> WrongOrders => s_wrongOrders.Keys;

    [TestCaseSource(nameof(WrongOrders))]
    public void Serialize_InAWrongOrder_IsAnInvalidOperation(string order)
    {
        Assert.That(() => Serialize(s_wrongOrders[order]), Throws.InvalidOperationException);
        Assert.That(
            Serialize((_, context) => context.Complete([1])), Is.EqualTo((byte[])[1]), "The next one is not harmed.");
    }

    [Test]
    public void Serialize_WithANullArrayOrANegativeLength_IsRefused()
    {
        Assert.That(() => Serialize((_, context) => context.Complete(null!)), Throws.ArgumentNullException);
        Assert.That(
            () => Serialize((_, context) => context.SetPayloadLength(-1)),
            Throws.TypeOf<ArgumentOutOfRangeException>());
    }

    [TestCase(0, 0, true)]
    [TestCase(1, 0, false)]
    [TestCase(3, 3, true)]
    [TestCase(4, 3, false)]
    public void Serialize_UpToTheLimit_IsTakenHoweverItIsWritten(int length, int limit, bool isTaken)
    {
        Action<string, SerializationContext>[] ways =
        [
            (_, context) => context.Complete(new byte[length]),
            (_, context) =>
            {
                context.GetBufferWriter().Write(new byte[length]);
                context.Complete();
            },
            (_, context) =>
            {
                context.SetPayloadLength(length);
                context.GetBufferWriter().Write(new byte[length]);
                context.Complete();
            },
        ];

        foreach (var way in ways)
        {
            Assert.That(
                () => Serialize(way, limit), isTaken ? Throws.Nothing : Throws.TypeOf<MessageTooLargeException>());
        }
    }

    [Test]
    public void SetPayloadLength_BeyondTheLimit_ThrowsBeforeAnythingIsWritten()
    {
        bool wentOn = false;

        Assert.That(
            () => Serialize(
                (_, context) =>
                {
                    context.SetPayloadLength(1 << 30);
                    wentOn = true;
                },
                limit: 1000),
            Throws.TypeOf<MessageTooLargeException>());
        Assert.That(wentOn, Is.False);
    }

    [Test]
    public void Serialize_ThatThrows_PassesItOn()
    {
        Assert.That(
            () => Serialize((_, _) => throw new FormatException("mine")), Throws.TypeOf<FormatException>());
    }

    [Test]
    public void Serialize_WithinASerializer_UsesAnotherContext()
    {
        byte[]? inner = null;
        byte[] outer = Serialize((_, context) =>
        {
            IBufferWriter<byte> writer = context.GetBufferWriter();
            writer.Write("outer("u8);
            inner = Serialize((_, nested) => nested.Complete("inner"u8.ToArray()));
            writer.Write(")"u8);
            context.Complete();
        });

        Assert.That(outer, Is.EqualTo("outer()"u8.ToArray()));
        Assert.That(inner, Is.EqualTo("inner"u8.ToArray()));
    }

    [Test]
    public void Serialize_Again_AllocatesNoContextAndNoBuffer()
    {
        Marshaller<string> marshaller = new((_, context) =>
        {
            context.GetBufferWriter().Write("abc"u8);
            context.Complete();
        }, static _ => "");
        FrameSerializationContext.Serialize(marshaller, "", null, parts: null).Dispose();
        long before = GC.GetAllocatedBytesForCurrentThread();

        for (int i = 0; i < 1000; i++)
        {
            FrameSerializationContext.Serialize(marshaller, "", null, parts: null).Dispose();
        }

        Assert.That(GC.GetAllocatedBytesForCurrentThread() - before, Is.LessThan(10_000));
    }

    [Test]
    public void Serialize_ByManyThreads_MixesNothing()
    {
        TestThread.RunAll("serializer", 4, i =>
        {
            byte[] expected = Enumerable.Repeat((byte)i, 1000).ToArray();
            for (int n = 0; n < 2000; n++)
            {
                Assert.That(Serialize((_, context) => context.Complete(expected)).AsSpan().SequenceEqual(expected));
            }
        });
    }

    private static byte[] Serialize(Action<string, SerializationContext> serializer, int? limit = null)
    {
        var marshaller = new Marshaller<string>(serializer, static _ => "");
        using FrameSerializationContext context =
            FrameSerializationContext.Serialize(marshaller, "message", limit, parts: null);
        return context.Bytes.WrittenSpan.ToArray();
    }
}
