using Grpc.Core.Api.Tests.Fakes;

namespace Grpc.Core.Api.Tests.Behaviour;

public class MarshallerTests
{
    private static readonly Func<string, byte[]> s_serialize = text => [(byte)text.Length];
    private static readonly Func<byte[], string> s_deserialize = bytes => new string('x', bytes[0]);
    private static readonly Action<string, SerializationContext> s_write = (text, context) => context.Complete([7]);
    private static readonly Func<DeserializationContext, string> s_read = context => $"{context.PayloadLength} bytes";

    [Test]
    public void PlainProperties_OfPlainMarshaller_AreWhatItWasMadeWith()
    {
        var marshaller = new Marshaller<string>(s_serialize, s_deserialize);

        Assert.That(marshaller.Serializer, Is.SameAs(s_serialize));
        Assert.That(marshaller.Deserializer, Is.SameAs(s_deserialize));
    }

    [Test]
    public void ContextualSerializer_OfPlainMarshaller_CompletesWithTheArray()
    {
        var context = new FakeSerializationContext();

        new Marshaller<string>(s_serialize, s_deserialize).ContextualSerializer("abc", context);

        Assert.That(context.Payload, Is.EqualTo(new byte[] { 3 }));
    }

    [Test]
    public void ContextualDeserializer_OfPlainMarshaller_ReadsANewBuffer()
    {
        var marshaller = new Marshaller<string>(s_serialize, s_deserialize);

        Assert.That(marshaller.ContextualDeserializer(new FakeDeserializationContext([2])), Is.EqualTo("xx"));
    }

    [Test]
    public void ContextualProperties_OfContextualMarshaller_AreWhatItWasMadeWith()
    {
        var marshaller = new Marshaller<string>(s_write, s_read);

        Assert.That(marshaller.ContextualSerializer, Is.SameAs(s_write));
        Assert.That(marshaller.ContextualDeserializer, Is.SameAs(s_read));
    }

    [Test]
    public void PlainProperties_OfContextualMarshaller_ThrowWhenCalled()
    {
        // Reading the properties is harmless; what they return is not implemented, in the package either.
        var marshaller = new Marshaller<string>(s_write, s_read);
        var (serializer, deserializer) = (marshaller.Serializer, marshaller.Deserializer);

        Assert.That(() => serializer("abc"), Throws.TypeOf<NotImplementedException>());
        Assert.That(() => deserializer([1]), Throws.TypeOf<NotImplementedException>());
    }

    [Test]
    public void Constructor_NullFunction_ThrowsArgumentNull()
    {
        Assert.That(() => new Marshaller<string>(null!, s_deserialize), Errors.NullArgument("serializer"));
        Assert.That(() => new Marshaller<string>(s_serialize, null!), Errors.NullArgument("deserializer"));
        Assert.That(() => new Marshaller<string>(null!, s_read), Errors.NullArgument("serializer"));
        Assert.That(() => new Marshaller<string>(s_write, null!), Errors.NullArgument("deserializer"));
    }

    [Test]
    public void Create_PlainFunctions_MakesPlainMarshaller()
    {
        Assert.That(Marshallers.Create(s_serialize, s_deserialize).Serializer, Is.SameAs(s_serialize));
    }

    [Test]
    public void Create_ContextualFunctions_MakesContextualMarshaller()
    {
        Assert.That(Marshallers.Create(s_write, s_read).ContextualSerializer, Is.SameAs(s_write));
    }

    [TestCase("")]
    [TestCase("Grüße, 世界")]
    public void StringMarshaller_ThereAndBack_IsUtf8(string text)
    {
        var marshaller = Marshallers.StringMarshaller;
        var bytes = marshaller.Serializer(text);

        Assert.That(bytes, Is.EqualTo(System.Text.Encoding.UTF8.GetBytes(text)));
        Assert.That(marshaller.Deserializer(bytes), Is.EqualTo(text));
    }
}
