using MessagePack.Tests.Fakes;

namespace MessagePack.Tests.Objects;

/// <summary>Values of one of several types.</summary>
public class UnionTests
{
    [Test]
    public void Union_Serialized_IsItsNumberAndTheValue()
    {
        IShape square = new Square(5, new Circle(3));

        Assert.That(Message.Serialized<IShape>(new Circle(3)), Is.EqualTo("92009103"));
        Assert.That(Message.Copied<IShape>(new Circle(3)), Is.EqualTo(new Circle(3)));
        Assert.That(Message.Copied(square), Is.EqualTo(square));
        Assert.That(Message.Copied(square, Message.Untrusted), Is.EqualTo(square));
    }

    [Test]
    public void Union_OfNullOrOfATypeItDoesNotKnow_IsNil()
    {
        Assert.That(Message.Serialized<IShape?>(null), Is.EqualTo("c0"));
        Assert.That(Message.Serialized<IShape>(new Blob(1)), Is.EqualTo("c0"));
        Assert.That(Message.Deserialized<IShape?>("c0"), Is.Null);
    }

    [Test]
    public void Union_OfANumberItDoesNotKnow_IsSkipped()
    {
        Assert.That(Message.Deserialized<IShape?[]>("92 92059103 92009103"), Is.EqualTo(new[] { null, new Circle(3) }));
    }

    [TestCase("9100")]
    [TestCase("93009103c0")]
    [TestCase("92a1009103")]
    [TestCase("05")]
    public void Union_OfAnotherShape_IsRefused(string hex)
    {
        Assert.That(() => Message.Deserialized<IShape?>(hex), Throws.InstanceOf<MessagePackSerializationException>());
    }

    [Test]
    public void Union_NestedWithoutEnd_IsRefused()
    {
        string bomb = string.Concat(Enumerable.Repeat("9207 82 a453697a65 00 a5496e6e6572", 2000)) + "c0";

        Assert.That(() => Message.Deserialized<IShape?>(bomb), Throws.InstanceOf<MessagePackSerializationException>());
    }
}
