using System.Buffers;
using Google.Protobuf;
using Grpc.Core;
using RpcOverShm.MessagePack.Tests.Protos;

namespace RpcOverShm.MessagePack.Tests;

/// <summary>Writing a message allocates nothing, and reading one allocates no more than Protobuf does.</summary>
internal sealed class AllocationTests
{
    private const int Rounds = 5;
    private const int MessagesInARound = 200;

    [Test]
    public void Writing_OfAnyMessage_AllocatesNothing()
    {
        AssertNothing(Samples.Everything);
        AssertNothing(Samples.Everything.Maps);
        AssertNothing(Samples.Everything.Lists);
        AssertNothing(new Record { Id = 5, Name = "name", Score = 1.5, Active = true, Note = new string('x', 1000) });
    }

    [Test]
    public void Reading_OfAnyMessage_AllocatesNoMoreThanProtobuf()
    {
        AssertNoMoreThanProtobuf(Samples.Everything);
        AssertNoMoreThanProtobuf(Samples.Everything.Maps);
        AssertNoMoreThanProtobuf(Samples.Everything.Lists);
        AssertNoMoreThanProtobuf(Samples.Everything.Node);
        AssertNoMoreThanProtobuf(Samples.Everything.WellKnown);
        AssertNoMoreThanProtobuf(Samples.Scalars);
        AssertNoMoreThanProtobuf(new Lists { I64 = { Enumerable.Range(0, 1000).Select(i => (long)i) } });
        AssertNoMoreThanProtobuf(new Record
        {
            Records = { Enumerable.Range(0, 1000).Select(i => new Record { Id = i, Name = "name" }) },
        });
    }

    private static void AssertNothing<T>(T message)
        where T : class
    {
        Marshaller<T> marshaller = Codec.Marshaller<T>();
        var context = new MemorySerializationContext();

        long allocated = LeastAllocated(() =>
        {
            context.Clear();
            marshaller.ContextualSerializer(message, context);
        });

        Assert.That(allocated, Is.Zero, typeof(T).Name);
    }

    private static void AssertNoMoreThanProtobuf<T>(T message)
        where T : class, IMessage<T>
    {
        Marshaller<T> marshaller = Codec.Marshaller<T>();
        var context = new MemoryDeserializationContext(new ReadOnlySequence<byte>(Way.Compiled.Write(message)));
        var protobuf = new ReadOnlySequence<byte>(message.ToByteArray());
        MessageParser parser = message.Descriptor.Parser;

        long ours = LeastAllocated(() => marshaller.ContextualDeserializer(context));
        long theirs = LeastAllocated(() => parser.ParseFrom(protobuf));

        Assert.That(ours, Is.LessThanOrEqualTo(theirs), typeof(T).Name);
        Assert.That(ours, Is.Positive);
    }

    /// <summary>
    /// Returns the allocated bytes of the best of several rounds, because pools and tiered code still grow in the first
    /// ones.
    /// </summary>
    private static long LeastAllocated(Action action)
    {
        long least = long.MaxValue;
        for (int round = 0; round < Rounds; round++)
        {
            long before = GC.GetAllocatedBytesForCurrentThread();
            for (int i = 0; i < MessagesInARound; i++)
            {
                action();
            }

            least = Math.Min(least, GC.GetAllocatedBytesForCurrentThread() - before);
        }

        return least;
    }
}
