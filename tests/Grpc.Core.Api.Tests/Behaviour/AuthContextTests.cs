using Grpc.Core.Api.Tests.Fakes;

namespace Grpc.Core.Api.Tests.Behaviour;

public class AuthContextTests
{
    private static readonly AuthProperty s_first = AuthProperty.Create("name", "one"u8.ToArray());
    private static readonly AuthProperty s_second = AuthProperty.Create("name", "two"u8.ToArray());
    private static readonly AuthProperty s_other = AuthProperty.Create("other", "three"u8.ToArray());

    [Test]
    public void Context_WithIdentity_IsAuthenticated()
    {
        var context = new AuthContext("name", Properties());

        Assert.That(context.IsPeerAuthenticated);
        Assert.That(context.PeerIdentityPropertyName, Is.EqualTo("name"));
        Assert.That(context.PeerIdentity, Is.EqualTo([s_first, s_second]));
        Assert.That(Debugging.Display(context), Is.EqualTo("IsPeerAuthenticated = True"));
    }

    [Test]
    public void Context_WithoutIdentity_IsNotAuthenticated()
    {
        var context = new AuthContext(null, Properties());

        Assert.That(context.IsPeerAuthenticated, Is.False);
        Assert.That(context.PeerIdentityPropertyName, Is.Null);
        Assert.That(context.PeerIdentity, Is.Empty);
    }

    [Test]
    public void PeerIdentity_NameWithoutProperty_ThrowsKeyNotFound()
    {
        var context = new AuthContext("absent", Properties());

        Assert.That(() => context.PeerIdentity, Throws.TypeOf<KeyNotFoundException>());
    }

    [Test]
    public void Properties_OfSeveralNames_AreAllThere()
    {
        Assert.That(new AuthContext(null, Properties()).Properties, Is.EquivalentTo([s_first, s_second, s_other]));
    }

    [Test]
    public void FindPropertiesByName_Names_FindsTheirs()
    {
        var context = new AuthContext(null, Properties());

        Assert.That(context.FindPropertiesByName("name"), Is.EqualTo([s_first, s_second]));
        Assert.That(context.FindPropertiesByName("Name"), Is.Empty);
    }

    [Test]
    public void Constructor_NullProperties_ThrowsArgumentNull()
    {
        Assert.That(() => new AuthContext("name", null!), Errors.NullArgument("properties"));
    }

    private static Dictionary<string, List<AuthProperty>> Properties()
    {
        return new() { ["name"] = [s_first, s_second], ["other"] = [s_other] };
    }
}
