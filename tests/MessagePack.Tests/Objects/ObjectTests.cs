using System.Buffers;
using MessagePack.Tests.Fakes;

namespace MessagePack.Tests.Objects;

/// <summary>Types whose attributes say how they are written.</summary>
public class ObjectTests
{
    [Test]
    public void Object_WithNumbers_IsAnArrayWhoseGapsAreNil()
    {
        var order = new Order { Id = 5, Name = "a", Points = [new Point { X = 1, Y = 2 }], Hidden = 9 };
        order.Next = new Order();
        const string Bytes = "9605a161c0919201" + "02cb3ff8000000000000" + "9600c0c0c0cb3ff8000000000000c0";

        Order copy = Message.Copied(order);

        Assert.That(Message.Serialized(order), Is.EqualTo(Bytes));
        Assert.That((copy.Id, copy.Name, copy.Weight, copy.Hidden), Is.EqualTo((5, "a", 1.5, 7)));
        Assert.That(copy.Points, Is.EqualTo(order.Points));
        Assert.That((copy.Next!.Id, copy.Next.Next), Is.EqualTo((0, (Order?)null)));
    }

    [Test]
    public void Object_WithNames_IsAMap()
    {
        Assert.That(
            Message.Serialized(new Person { Name = "x", Age = 3 }), Is.EqualTo("82a16ea178a361676503"));
        Assert.That(
            Message.Serialized(new Plain { Count = 1, Text = "t", Hidden = 2 }),
            Is.EqualTo("82a5436f756e7401a454657874a174"));
    }

    [Test]
    public void Object_ReadFromEveryCut_IsTheSame()
    {
        byte[] bytes = MessagePackSerializer.Serialize(new Plain { Count = 300, Text = "text" });
        foreach (ReadOnlySequence<byte> cut in Segment.EveryCutOf(bytes))
        {
            Plain copy = MessagePackSerializer.Deserialize<Plain>(cut);
            Assert.That((copy.Count, copy.Text), Is.EqualTo((300, "text")));
        }
    }

    [Test]
    public void Map_InAnotherOrder_WithMoreOrLess_IsReadAsFarAsItIsKnown()
    {
        Person person = Message.Deserialized<Person>("84 a361676505 a178 93010203 a16e a179 d90461626364 c0");
        Person empty = Message.Deserialized<Person>("80");

        Assert.That((person.Name, person.Age), Is.EqualTo(("y", 5)));
        Assert.That((empty.Name, empty.Age), Is.EqualTo(("nobody", -1)));
    }

    [Test]
    public void Array_WithMoreOrLess_IsReadAsFarAsItIsKnown()
    {
        Order shorter = Message.Deserialized<Order>("9105");
        Order longer = Message.Deserialized<Order>("98 05 a161 c3 c0 cb4000000000000000 c0 81a161c0 93010203");

        Assert.That((shorter.Id, shorter.Name, shorter.Weight), Is.EqualTo((5, (string?)null, 1.5)));
        Assert.That((longer.Id, longer.Name, longer.Weight), Is.EqualTo((5, "a", 2.0)));
    }

    [Test]
    public void Null_OfAClass_IsNilAndOfAStructIsRefused()
    {
        Assert.That(Message.Serialized((Order?)null), Is.EqualTo("c0"));
        Assert.That(Message.Deserialized<Order?>("c0"), Is.Null);
        Assert.That(Message.Deserialized<Point?>("c0"), Is.Null);
        Assert.That(() => Message.Deserialized<Point>("c0"), Throws.InstanceOf<MessagePackSerializationException>());
    }

    [TestCase("80", TestName = "Array_ReadFromAMap_IsRefused")]
    [TestCase("05", TestName = "Array_ReadFromANumber_IsRefused")]
    [TestCase("92a16105", TestName = "Array_WithAWrongMember_IsRefused")]
    [TestCase("9205", TestName = "Array_ThatEnds_IsRefused")]
    public void Object_FromAnythingElse_IsRefused(string hex)
    {
        Assert.That(() => Message.Deserialized<Point>(hex), Throws.InstanceOf<MessagePackSerializationException>());
    }

    [Test]
    public void Struct_InPlace_KeepsItsMembers()
    {
        var point = new Point { X = 1, Y = -2 };

        Assert.That(Message.Serialized(point), Is.EqualTo("9201fe"));
        Assert.That(Message.Copied(point), Is.EqualTo(point));
        Assert.That(Message.Copied((Point?)point), Is.EqualTo(point));
    }

    [Test]
    public void Record_WithPositions_IsMadeByItsConstructor()
    {
        Assert.That(Message.Serialized(new Pair(1, "b")), Is.EqualTo("9201a162"));
        Assert.That(Message.Copied(new Pair(1, "b")), Is.EqualTo(new Pair(1, "b")));
        Assert.That(Message.Deserialized<Pair>("9105"), Is.EqualTo(new Pair(5, null)));
    }

    [Test]
    public void Record_WithInitOnlyMembers_ComesBack()
    {
        var value = new InitOnly { Number = 5, Text = "t" };

        Assert.That(Message.Copied(value), Is.EqualTo(value));
    }

    [Test]
    public void Constructor_ThatIsMarked_IsTheOneThatIsUsed()
    {
        Constructed copy = Message.Copied(new Constructed("n", 5));

        Assert.That((copy.Name, copy.Size, copy.Used), Is.EqualTo(("n", 5, "name")));
    }

    [Test]
    public void Receiver_OfCallbacks_IsTold()
    {
        var value = new Receiver();
        Receiver copy = Message.Copied(value);

        Assert.That((value.Writes, value.Reads), Is.EqualTo((1, 0)));
        Assert.That((copy.Writes, copy.Reads), Is.EqualTo((1, 1)));
    }

    [Test]
    public void Formatter_NamedByTypeOrMember_IsTheOneThatWrites()
    {
        var weather = new Weather { Outside = new Temperature(5), Inside = new Temperature(21) };
        Weather copy = Message.Copied(weather);

        Assert.That(Message.Serialized(new Temperature(5)), Is.EqualTo("a27435"));
        Assert.That(Message.Serialized(weather), Is.EqualTo("92a27435a9696e73696465203231"));
        Assert.That((copy.Outside, copy.Inside), Is.EqualTo((weather.Outside, weather.Inside)));
    }

    [Test]
    public void Contract_OfDotNet_IsAMapOfWhatItMarks()
    {
        var value = new Contract { Number = 5, Text = "t", Hidden = 6 };
        Contract copy = Message.Copied(value);

        Assert.That(Message.Serialized(value), Is.EqualTo("82a16e05a454657874a174"));
        Assert.That((copy.Number, copy.Text, copy.Hidden), Is.EqualTo((5, "t", 0)));
    }

    [Test]
    public void Type_ThatForgetsAMember_IsRefused()
    {
        Assert.That(
            () => Message.Serialized(new Unmarked()),
            Throws.InstanceOf<MessagePackSerializationException>().With.InnerException.Message.Contains("Forgotten"));
    }

    [Test]
    public void Type_ThatSaysNothing_HasNoFormatter()
    {
        Assert.That(
            () => Message.Serialized(new Unknown()),
            Throws.InstanceOf<MessagePackSerializationException>()
                .With.InnerException.InstanceOf<FormatterNotRegisteredException>());
        Assert.That(
            () => Message.Deserialized<Unknown>("80"),
            Throws.InstanceOf<MessagePackSerializationException>()
                .With.InnerException.InstanceOf<FormatterNotRegisteredException>());
    }
}
