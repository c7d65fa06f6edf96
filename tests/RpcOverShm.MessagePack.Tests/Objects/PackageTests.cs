using Grpc.Core;
using MessagePack;
using static RpcOverShm.MessagePack.Tests.Objects.RuleSamples;

namespace RpcOverShm.MessagePack.Tests.Objects;

/// <summary>The behaviour of the MessagePack package that the codec relies on.</summary>
internal sealed class PackageTests
{
    private static readonly Marshaller<Order> s_orders = Codec.Marshaller<Order>();
    private static readonly Marshaller<Holder<object>> s_objects = Codec.Marshaller<Holder<object>>();
    private static readonly Marshaller<Holder<DateTime>> s_times = Codec.Marshaller<Holder<DateTime>>();

    [TestCase("9f00")]
    [TestCase("dd7fffffff00")]
    [TestCase("ddffffffff00")]
    [TestCase("df7fffffff0000")]
    [TestCase("dfffffffff0000")]
    [TestCase("91bf00")]
    [TestCase("91db7fffffff00")]
    [TestCase("91dbffffffff00")]
    [TestCase("91c6ffffffff00")]
    [TestCase("91c9ffffffff0500")]
    [TestCase("91c1")]
    [TestCase("91d4")]
    [TestCase("91c70c")]
    [TestCase("91c70cff0000")]
    public void Count_OfMoreThanThereIs_IsRefusedWithoutMakingRoom(string hex)
    {
        AssertRefused(s_orders, hex);
        AssertRefused(s_objects, hex);
        AssertRefused(s_times, hex);
        long before = GC.GetAllocatedBytesForCurrentThread();
        AssertRefused(s_objects, hex);

        Assert.That(GC.GetAllocatedBytesForCurrentThread() - before, Is.LessThan(64 << 10));
    }

    [TestCase("91c70cff000000007fffffffffffffff", TestName = "Timestamp_BeyondAnyYear_IsRefused")]
    [TestCase("91d6fe00000000", TestName = "Timestamp_OfAnotherExtension_IsRefused")]
    [TestCase("91c705ff0000000000", TestName = "Timestamp_OfAnotherLength_IsRefused")]
    [TestCase("91c0", TestName = "Timestamp_ThatIsNil_IsRefused")]
    public void Timestamp_ThatIsSpoilt_IsRefused(string hex) => AssertRefused(s_times, hex);

    [Test]
    public void MemberThatIsUnknown_AsDeepAsOneLikes_IsPassedOver()
    {
        byte[] deep = [0x97, 5, .. Enumerable.Repeat(MessagePackCode.Nil, 5), .. Bomb(1_000_000)];

        Assert.That(Codec.Read(s_orders, deep).Id, Is.EqualTo(5));
    }

    [TestCase(90, true)]
    [TestCase(150, false)]
    [TestCase(1_000_000, false)]
    public void ObjectThatIsDeep_IsReadOrRefused(int depth, bool isRead)
    {
        byte[] bytes = [0x91, .. Bomb(depth)];

        Assert.That(
            () => Codec.Read(s_objects, bytes),
            isRead ? Throws.Nothing : Throws.TypeOf<MessagePackSerializationException>());
    }

    [Test]
    public void ObjectThatIsANumber_KeepsItsType()
    {
        byte[] bytes = Codec.Write(s_objects, new Holder<object>(5));

        Assert.That(Codec.Hex(bytes), Is.EqualTo("91d200000005"));
        Assert.That(Codec.Read(s_objects, bytes).Held, Is.TypeOf<int>().And.EqualTo(5));
    }

    private static byte[] Bomb(int depth) => [.. Enumerable.Repeat((byte)0x91, depth), MessagePackCode.Nil];

    private static void AssertRefused<T>(Marshaller<T> marshaller, string hex) => Assert.That(
        () => Codec.Read(marshaller, Convert.FromHexString(hex)), Throws.TypeOf<MessagePackSerializationException>());
}
