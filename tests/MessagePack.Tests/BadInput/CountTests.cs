using System.Collections;
using MessagePack.Tests.Fakes;
using MessagePack.Tests.Objects;

namespace MessagePack.Tests.BadInput;

/// <summary>Lengths and counts that promise more than there is cost no more than what there is.</summary>
public class CountTests
{
    private const int Small = 64 * 1024;

    private static readonly string[] s_arrays = ["9f00", "dcffff00", "dd7fffffff00", "ddffffffff00"];

    private static readonly string[] s_maps = ["8f0000", "deffff0000", "df7fffffff0000", "dfffffffff0000"];

    private static readonly string[] s_bytes =
    [
        "c4ff00", "c5ffff00", "c67fffffff00", "c6ffffffff00",
        "bf00", "d9ff00", "daffff00", "db7fffffff00", "dbffffffff00",
    ];

    private static IEnumerable<TestCaseData> Promises() =>
    [
        .. Case(s_arrays, "int[]", Message.Deserialized<int[]>),
        .. Case(s_arrays, "List<string>", Message.Deserialized<List<string>>),
        .. Case(s_arrays, "HashSet<long>", Message.Deserialized<HashSet<long>>),
        .. Case(s_arrays, "Queue<decimal>", Message.Deserialized<Queue<decimal>>),
        .. Case(s_arrays, "BitArray", Message.Deserialized<BitArray>),
        .. Case(s_arrays, "object", Message.Deserialized<object>),
        .. Case(s_arrays, "Order", Message.Deserialized<Order>),
        .. Case(s_arrays, "Tuple", hex => Message.Deserialized<(int, int)>(hex)),
        .. Case(s_maps, "Dictionary<string, int>", Message.Deserialized<Dictionary<string, int>>),
        .. Case(s_maps, "SortedDictionary<int, int>", Message.Deserialized<SortedDictionary<int, int>>),
        .. Case(s_maps, "object", Message.Deserialized<object>),
        .. Case(s_maps, "Person", Message.Deserialized<Person>),
        .. Case(s_bytes[..4], "byte[]", Message.Deserialized<byte[]>),
        .. Case(s_bytes[4..], "string", Message.Deserialized<string>),
        .. Case(s_bytes, "object", Message.Deserialized<object>),
    ];

    [TestCaseSource(nameof(Promises))]
    public void Promise_OfMoreThanThereIs_IsRefusedWithoutMakingRoom(string hex, object read)
    {
        var deserialize = (Func<string, object?>)read;
        // What is allocated only the first time is not the message's doing.
        Assert.That(() => deserialize(hex), Throws.InstanceOf<MessagePackSerializationException>());
        long before = GC.GetAllocatedBytesForCurrentThread();
        try
        {
            deserialize(hex);
        }
        catch (MessagePackSerializationException)
        {
        }

        Assert.That(GC.GetAllocatedBytesForCurrentThread() - before, Is.LessThan(Small));
    }

    [Test]
    public void Header_ThatPromisesMoreThanThereIs_IsTheEndOfTheStream()
    {
        Message.AssertThrows<EndOfStreamException>("930102", (ref reader) => reader.ReadArrayHeader());
        Message.AssertThrows<EndOfStreamException>("82010203", (ref reader) => reader.ReadMapHeader());
        Message.AssertThrows<EndOfStreamException>("c70205ff", (ref reader) => reader.ReadExtensionFormatHeader());
        Message.AssertThrows<EndOfStreamException>("dd7fffffff", (ref reader) => reader.ReadArrayHeader());
        Message.AssertThrows<EndOfStreamException>("df7fffffff", (ref reader) => reader.ReadMapHeader());
        Message.AssertThrows<EndOfStreamException>("c97fffffff05", (ref reader) => reader.ReadExtensionFormatHeader());
    }

    [Test]
    public void Header_ThatPromisesWhatThereMayBe_IsAnswered()
    {
        Assert.That(Message.Read("93010203", (ref reader) => reader.ReadArrayHeader()), Is.EqualTo(3));
        Assert.That(Message.Read("8201020304", (ref reader) => reader.ReadMapHeader()), Is.EqualTo(2));
    }

    private static IEnumerable<TestCaseData> Case<T>(string[] messages, string type, Func<string, T> read)
    {
        Func<string, object?> boxed = hex => read(hex);
        return messages.Select(hex => new TestCaseData(hex, boxed).SetArgDisplayNames(type, hex));
    }
}
