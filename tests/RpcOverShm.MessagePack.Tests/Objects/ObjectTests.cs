using Grpc.Core;
using MessagePack;
using MessagePack.Resolvers;

namespace RpcOverShm.MessagePack.Tests.Objects;

/// <summary>Types without generated code, through the package's serializer with its strictest settings.</summary>
internal sealed class ObjectTests
{
    private readonly Marshaller<Order> _orders = Codec.Marshaller<Order>();

    [Test]
    public void Object_WrittenAndRead_IsTheSame()
    {
        Order order = Order.Sample;
        order.Before = new Order { Id = 1 };

        byte[] bytes = Codec.Write(_orders, order);
        Order read = Codec.Read(_orders, bytes);

        Assert.That(Codec.Hex(bytes), Does.StartWith("96cd012ca46e616d65c09282a454657874a161"));
        Assert.That(read.Id, Is.EqualTo(300));
        Assert.That(read.Lines!.Select(line => $"{line.Text}{line.Price}"), Is.EqualTo(new[] { "a1.5", "b-2" }));
        Assert.That(read.Notes, Is.EqualTo(order.Notes));
        Assert.That(read.Before!.Id, Is.EqualTo(1));
        Assert.That(Codec.Write(_orders, read), Is.EqualTo(bytes));
    }

    [Test]
    public void Object_CutOffAnywhere_IsRefused()
    {
        byte[] whole = Codec.Write(_orders, Order.Sample);

        for (int length = 0; length < whole.Length; length++)
        {
            Assert.That(
                () => Codec.Read(_orders, whole[..length]),
                Throws.InstanceOf<MessagePackSerializationException>(),
                $"{length} bytes");
        }
    }

    [Test]
    public void Object_WithBytesBehindIt_IsRefused() => Assert.That(
        () => Codec.Read(_orders, [.. Codec.Write(_orders, Order.Sample), 0]),
        Throws.InstanceOf<MessagePackSerializationException>().With.Message.Contains("behind"));

    [Test]
    public void Object_ThatIsNil_IsRefused() => Assert.That(
        () => Codec.Read(_orders, [MessagePackCode.Nil]),
        Throws.InstanceOf<MessagePackSerializationException>().With.Message.Contains("Nil"));

    [TestCase(90, true)]
    [TestCase(150, false)]
    public void Object_DeepInOthers_IsReadOrRefused(int depth, bool isRead)
    {
        Order order = Enumerable.Range(1, depth - 1)
            .Aggregate(new Order(), (inner, id) => new Order { Id = id, Before = inner });

        byte[] bytes = Codec.Write(_orders, order);

        Assert.That(
            () => Codec.Read(_orders, bytes).Id,
            isRead ? Is.EqualTo(depth - 1) : Throws.InstanceOf<MessagePackSerializationException>());
    }

    [TestCase("91", TestName = "Object_WhoseArraysPromiseTheSameBytes_ReservesNothing")]
    [TestCase("92c0", TestName = "Object_WhoseObjectsPromiseTheSameBytes_ReservesNothing")]
    public void Object_ThatPromisesTheSameBytes_ReservesNothing(string level)
    {
        Marshaller<Tree> trees = Codec.Marshaller<Tree>();
        byte[] bomb = Bomb(Convert.FromHexString(level), isOnce: level != "91");
        // Warms up one-time allocations.
        AssertRefused();
        long before = GC.GetAllocatedBytesForCurrentThread();
        AssertRefused();

        Assert.That(GC.GetAllocatedBytesForCurrentThread() - before, Is.LessThan(2 * bomb.Length));

        void AssertRefused() =>
            Assert.That(() => Codec.Read(trees, bomb), Throws.InstanceOf<MessagePackSerializationException>());
    }

    [Test]
    public void Object_InPieces_IsRead()
    {
        byte[] bytes = Codec.Write(_orders, Order.Sample);

        Order read = _orders.ContextualDeserializer(MemoryDeserializationContext.InPieces(bytes, 3));

        Assert.That(Codec.Write(_orders, read), Is.EqualTo(bytes));
    }

    [Test]
    public void Folders_InsideFolders_AreRead()
    {
        Marshaller<Folder> marshaller = Codec.Marshaller<Folder>();
        var folder = new Folder { Folders = [new Folder(), new Folder { Anything = new object[] { 1, "x" } }] };

        Folder read = Codec.Read(marshaller, Codec.Write(marshaller, folder));

        Assert.That(read.Folders![1].Anything, Is.EqualTo(new object[] { 1, "x" }));
    }

    [Test]
    public void Type_ThatTheResolverKnowsByItself_IsTakenToo()
    {
        Marshaller<List<string>> marshaller = Codec.Marshaller<List<string>>();

        Assert.That(Codec.Read(marshaller, [0x92, 0xA1, 0x61, 0xA0]), Is.EqualTo(new[] { "a", "" }));
    }

    [Test]
    public void Class_WithoutAttributes_HasNoForm() =>
        Assert.That(ShmMessagePackCodec.Instance.CreateMarshaller<Plain>(null!), Is.Null);

    [Test]
    public void Class_WithAFormatterInTheOptions_IsTaken()
    {
        IFormatterResolver resolver = CompositeResolver.Create([new PlainFormatter()], [StandardResolver.Instance]);
        var codec = new ShmMessagePackCodec(MessagePackSerializerOptions.Standard.WithResolver(resolver));
        Marshaller<Plain> marshaller = codec.CreateMarshaller<Plain>(null!)!;

        byte[] bytes = Codec.Write(marshaller, new Plain { Number = 5 });

        Assert.That(bytes, Is.EqualTo(new byte[] { 5 }));
        Assert.That(Codec.Read(marshaller, bytes).Number, Is.EqualTo(5));
        Order order = Codec.Read(codec.CreateMarshaller<Order>(null!)!, Codec.Write(_orders, Order.Sample));
        Assert.That(order.Id, Is.EqualTo(300));
    }

    [Test]
    public void Options_ThatCompress_AreRefused(
        [Values(MessagePackCompression.Lz4Block, MessagePackCompression.Lz4BlockArray)]
        MessagePackCompression compression)
    {
        MessagePackSerializerOptions options = MessagePackSerializerOptions.Standard.WithCompression(compression);

        Assert.That(
            () => new ShmMessagePackCodec(options), Throws.ArgumentException.With.Message.Contains($"{compression}"));
    }

    [Test]
    public void Options_WithAResolverForAnyClassOrForNamesOfTypes_AreRefused()
    {
        IFormatterResolver typeless =
            CompositeResolver.Create(TypelessObjectResolver.Instance, StandardResolver.Instance);

        Assert.That(
            () => new ShmMessagePackCodec(ContractlessStandardResolver.Options),
            Throws.ArgumentException.With.Message.Contains("without attributes"));
        Assert.That(
            () => new ShmMessagePackCodec(MessagePackSerializerOptions.Standard.WithResolver(typeless)),
            Throws.ArgumentException.With.Message.Contains("names of types"));
    }

    [Test]
    public void Options_ThatAreNull_AreRefused() =>
        Assert.That(() => new ShmMessagePackCodec(null!), Throws.ArgumentNullException);

    /// <summary>Returns nested arrays, each of which claims as many elements as bytes follow it.</summary>
    private static byte[] Bomb(byte[] level, bool isOnce)
    {
        const int Levels = 45;
        const int Behind = 100_000;
        byte[] array = [MessagePackCode.Array32, 0, Behind >> 16, (Behind >> 8) & 0xff, Behind & 0xff];
        IEnumerable<byte> bytes = Enumerable.Range(0, Levels)
            .SelectMany(i => i == 0 || !isOnce ? level.Concat(array) : array);
        return [.. bytes, .. Enumerable.Repeat(MessagePackCode.Nil, Behind)];
    }
}
