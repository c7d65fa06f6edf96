using MessagePack.Tests.Fakes;

namespace MessagePack.Tests.Values;

/// <summary>Values whose type nobody says: they are what the message has.</summary>
public class ObjectValueTests
{
    [TestCase("c0", null)]
    [TestCase("c3", true)]
    [TestCase("05", (byte)5)]
    [TestCase("ff", (sbyte)-1)]
    [TestCase("cc05", (byte)5)]
    [TestCase("cd0005", (ushort)5)]
    [TestCase("ce00000005", 5u)]
    [TestCase("cf0000000000000005", 5ul)]
    [TestCase("d005", (sbyte)5)]
    [TestCase("d10005", (short)5)]
    [TestCase("d200000005", 5)]
    [TestCase("d30000000000000005", 5L)]
    [TestCase("ca3fc00000", 1.5f)]
    [TestCase("cb3ff8000000000000", 1.5)]
    [TestCase("a161", "a")]
    public void Token_ReadAsObject_IsOfTheTypeOfItsCode(string hex, object? expected)
    {
        object? value = Message.Deserialized<object?>(hex);

        Assert.That(value, Is.EqualTo(expected));
        Assert.That(value?.GetType(), Is.EqualTo(expected?.GetType()));
    }

    [Test]
    public void Nested_ReadAsObject_IsArraysAndDictionaries()
    {
        object value = Message.Deserialized<object>("92 c40101 81 a161 93 01 c3 d6ff00000000");

        Assert.That(value, Is.EqualTo(new object[]
        {
            new byte[] { 1 },
            new Dictionary<object, object> { ["a"] = new object[] { (byte)1, true, DateTime.UnixEpoch } },
        }));
    }

    [Test]
    public void Object_Serialized_IsWrittenAsWhatItIs()
    {
        Assert.That(Message.Serialized<object>(5), Is.EqualTo("05"));
        Assert.That(Message.Serialized<object?>(null), Is.EqualTo("c0"));
        Assert.That(Message.Serialized<object>("a"), Is.EqualTo("a161"));
        Assert.That(Message.Serialized<object>(new object[] { 1, "a" }), Is.EqualTo("9201a161"));
        Assert.That(Message.Serialized<object>(new Dictionary<string, int> { ["a"] = 1 }), Is.EqualTo("81a16101"));
    }

    [TestCase("d40500")]
    [TestCase("c1")]
    public void Token_ThatIsNoValue_IsRefused(string hex)
    {
        Assert.That(() => Message.Deserialized<object>(hex), Throws.InstanceOf<MessagePackSerializationException>());
    }

    [Test]
    public void Values_WhoseTypeIsKnownAtRunTime_AreWrittenAndReadAlike()
    {
        Type type = typeof(List<int>);
        byte[] bytes = MessagePackSerializer.Serialize(type, new List<int> { 1, 2 });

        Assert.That(Message.Hex(bytes), Is.EqualTo("920102"));
        Assert.That(MessagePackSerializer.Deserialize(type, bytes), Is.EqualTo(new[] { 1, 2 }));
        Assert.That(
            MessagePackSerializer.Deserialize(type, Segment.Join([.. Segment.OneByOne(bytes)])),
            Is.EqualTo(new[] { 1, 2 }));
    }
}
