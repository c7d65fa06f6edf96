namespace Grpc.Core.Api.Tests.Surface;

/// <summary>Grpc.Core was compiled against the package and binds to internals of it: all that must be here.</summary>
public class GrpcCoreBindingTests
{
    private readonly GrpcCoreReferences _references = new();

    [TearDown]
    public void CloseMetadata() => _references.Dispose();

    [Test]
    public void ReferencedTypes_Resolved_AreAllFound()
    {
        var types = _references.Types();

        Assert.That(types, Has.Count.GreaterThan(40).And.ContainKey("Grpc.Core.Internal.CallFlags"));
        Assert.That(types.Where(type => _references.WhyMissing(type.Value) is not null), Is.Empty);
    }

    [Test]
    public void ReferencedMembers_Resolved_AreAllFound()
    {
        var members = _references.Members();

        var missing = members
            .Select(member => (member.Name, Reason: _references.WhyMissing(member.Handle)))
            .Where(member => member.Reason is not null);

        Assert.That(members.Select(member => member.Name), Has.Member("Grpc.Core.Metadata.Entry.CreateUnsafe"));
        Assert.That(members, Has.Count.GreaterThan(100));
        Assert.That(missing, Is.Empty);
    }

    [Test]
    public void ForwardedTypes_Resolved_AreAllFound()
    {
        var forwards = _references.Forwards();

        Assert.That(forwards, Has.Count.GreaterThan(50).And.Member("Grpc.Core.Metadata+Entry"));
        Assert.That(forwards.Where(name => typeof(Metadata).Assembly.GetType(name) is null), Is.Empty);
    }

    [Test]
    public void OwnTypes_Loaded_OverrideWhatIsHere()
    {
        // A member that a type of Grpc.Core overrides or implements, and that is not here, fails the type's loading.
        var types = typeof(Channel).Assembly.GetTypes().Select(type => type.Name).ToList();

        Assert.That(types, Has.Count.GreaterThan(100).And.Some.EqualTo("DefaultServerCallContext"));
    }
}
