using Grpc.Core.Api.Tests.Fakes;

namespace Grpc.Core.Api.Tests.Behaviour;

public class AuthPropertyTests
{
    [Test]
    public void Value_OfBytes_IsUtf8Text()
    {
        var property = AuthProperty.Create("name", "Größe"u8.ToArray());

        Assert.That(property.Name, Is.EqualTo("name"));
        Assert.That(property.Value, Is.EqualTo("Größe"));
    }

    [Test]
    public void Value_AskedTwice_IsDecodedOnce()
    {
        var property = AuthProperty.Create("name", "text"u8.ToArray());

        var first = property.Value;

        Assert.That(property.Value, Is.SameAs(first));
    }

    [Test]
    public void ValueBytes_SourceOrResultChanged_StayAsTheyWere()
    {
        byte[] source = [1, 2];
        var property = AuthProperty.Create("name", source);

        source[0] = 9;
        property.ValueBytes[1] = 9;

        Assert.That(property.ValueBytes, Is.EqualTo(new byte[] { 1, 2 }));
    }

    [Test]
    public void Create_Null_ThrowsArgumentNull()
    {
        Assert.That(() => AuthProperty.Create(null!, [1]), Errors.NullArgument("name"));
        Assert.That(() => AuthProperty.Create("name", null!), Errors.NullArgument("valueBytes"));
        Assert.That(() => AuthProperty.Create(null!, null!), Errors.NullArgument("valueBytes"));
    }
}
