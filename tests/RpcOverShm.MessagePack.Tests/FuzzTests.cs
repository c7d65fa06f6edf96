using System.Buffers;
using Google.Protobuf;
using Grpc.Core;
using MessagePack;
using RpcOverShm.MessagePack.Tests.Objects;
using RpcOverShm.MessagePack.Tests.Protos;
using RpcOverShm.MessagePack.Tests.RandomMessages;
using RpcOverShm.Testing;

namespace RpcOverShm.MessagePack.Tests;

/// <summary>
/// Corrupted messages are either read or refused with the documented exception, and allocate no more than a multiple of
/// their length. <c>RPCOVERSHM_FUZZ_COUNT</c> sets the number of inputs for each test.
/// </summary>
internal sealed class FuzzTests
{
    private const int UsualCount = 50_000;
    private const int CorpusMessages = 100;

    // One byte of input can become an element of a list: a Node with its collections.
    private const int BytesForEachByte = 1024;
    private const int BytesAtLeast = 16 << 10;

    // One in this many inputs is also read by the slower way, whose result must be the same.
    private const int ComparedEvery = 8;

    private static int Count => FuzzInputs.Count(UsualCount);

    [Test]
    public void Everything_TamperedWith_IsReadOrRefused() => Fuzz<Everything>(Samples.Everything);

    [Test]
    public void Nodes_TamperedWith_AreReadOrRefused() => Fuzz<Node>(Samples.Everything.Node);

    [Test]
    public void Lists_TamperedWith_AreReadOrRefused() => Fuzz<Lists>(Samples.Everything.Lists);

    [Test]
    public void Maps_TamperedWith_AreReadOrRefused() => Fuzz<Maps>(Samples.Everything.Maps);

    [Test]
    public void Objects_TamperedWith_AreReadOrRefused()
    {
        Random random = TestSeed.NewRandom();
        Marshaller<Order> marshaller = Codec.Marshaller<Order>();
        byte[] whole = Codec.Write(marshaller, Order.Sample);
        int readable = 0;
        foreach (int _ in FuzzInputs.Numbers(UsualCount))
        {
            (Order? order, string? _) = AttemptWithin(marshaller, Mutation.Of(whole, random));
            readable += order is null ? 0 : 1;
        }

        AssertBoth(readable);
    }

    private static void Fuzz<T>(T sample)
        where T : class, IMessage<T>, new()
    {
        Random random = TestSeed.NewRandom();
        Marshaller<T> compiled = Codec.Marshaller<T>();
        Marshaller<T> described = Codec.Marshaller<T>(Way.Described);
        byte[][] corpus =
        [
            .. RandomMessage.Sample(sample.Descriptor, CorpusMessages)
                .Append(sample).Select(message => Codec.Write(compiled, (T)message)),
        ];
        int readable = 0;
        foreach (int i in FuzzInputs.Numbers(UsualCount))
        {
            byte[] input = Mutation.Of(corpus[random.Next(corpus.Length)], random);
            (T? message, string? failure) = AttemptWithin(compiled, input);
            readable += message is null ? 0 : 1;
            if (i % ComparedEvery == 0)
            {
                (T? other, string? otherFailure) = Attempt(described, input);
                Assert.That(other, Is.EqualTo(message), Codec.Hex(input));
                Assert.That(otherFailure, Is.EqualTo(failure), Codec.Hex(input));
            }
        }

        AssertBoth(readable);
    }

    private static void AssertBoth(int readable)
    {
        Console.WriteLine($"{Count} inputs, {Count - readable} refused");
        Assert.That(readable, Is.InRange(Count / 100, Count - (Count / 100)), "Both outcomes are met.");
    }

    private static (T? Message, string? Failure) AttemptWithin<T>(Marshaller<T> marshaller, byte[] input)
        where T : class
    {
        long before = GC.GetAllocatedBytesForCurrentThread();
        (T? message, string? failure) = Attempt(marshaller, input);
        long allocated = GC.GetAllocatedBytesForCurrentThread() - before;
        if (allocated > BytesAtLeast + ((long)BytesForEachByte * input.Length))
        {
            Assert.Fail($"{input.Length} bytes became {allocated}: {Codec.Hex(input)}");
        }

        return (message, failure);
    }

    private static (T? Message, string? Failure) Attempt<T>(Marshaller<T> marshaller, byte[] input)
        where T : class
    {
        try
        {
            var context = new MemoryDeserializationContext(new ReadOnlySequence<byte>(input));
            return (marshaller.ContextualDeserializer(context), null);
        }
        catch (MessagePackSerializationException exception)
        {
            return (null, exception.Message);
        }
        catch (Exception exception)
        {
            throw new AssertionException(Codec.Hex(input), exception);
        }
    }
}
