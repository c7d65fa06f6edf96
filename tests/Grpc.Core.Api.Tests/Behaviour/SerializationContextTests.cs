namespace Grpc.Core.Api.Tests.Behaviour;

/// <summary>What the contexts do where a transport leaves a member to its base.</summary>
public class SerializationContextTests
{
    private static readonly SerializationContext s_serialization = new BareSerializationContext();
    private static readonly DeserializationContext s_deserialization = new BareDeserializationContext();

    [Test]
    public void Complete_NotOverridden_ThrowsNotImplemented()
    {
        Assert.That(() => s_serialization.Complete([1]), Throws.TypeOf<NotImplementedException>());
        Assert.That(s_serialization.Complete, Throws.TypeOf<NotImplementedException>());
    }

    [Test]
    public void GetBufferWriter_NotOverridden_ThrowsNotImplemented()
    {
        Assert.That(s_serialization.GetBufferWriter, Throws.TypeOf<NotImplementedException>());
    }

    [Test]
    public void SetPayloadLength_NotOverridden_IsIgnored()
    {
        Assert.That(() => s_serialization.SetPayloadLength(-1), Throws.Nothing);
    }

    [Test]
    public void PayloadAccessors_NotOverridden_ThrowNotImplemented()
    {
        Assert.That(s_deserialization.PayloadAsNewBuffer, Throws.TypeOf<NotImplementedException>());
        Assert.That(() => s_deserialization.PayloadAsReadOnlySequence(), Throws.TypeOf<NotImplementedException>());
    }

    private sealed class BareSerializationContext : SerializationContext;

    private sealed class BareDeserializationContext : DeserializationContext
    {
        public override int PayloadLength => 0;
    }
}
