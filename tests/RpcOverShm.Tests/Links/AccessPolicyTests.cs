using RpcOverShm.Linux;
using RpcOverShm.Systems;
using RpcOverShm.Tests.Segments;

namespace RpcOverShm.Tests.Links;

public class AccessPolicyTests
{
    private const uint Stranger = 54321;

    private readonly SocketPair _sockets = new();

    private static uint Me => LinuxNative.GetEffectiveUserId();

    [TearDown]
    public void Close() => _sockets.Dispose();

    [Test]
    public void Admits_OfTheOwnUserAndRoot_IsTrueWithoutAnyOption()
    {
        Assert.That(Admits(AccessPolicy.OwnUserOnly, Me));
        Assert.That(Admits(AccessPolicy.OwnUserOnly, 0));
        Assert.That(Admits(AccessPolicy.OwnUserOnly, Stranger), Is.False);
        Assert.That(AccessPolicy.OwnUserOnly.IsShared, Is.False);
    }

    [Test]
    public void Admits_OfANamedUser_IsTrueForThisUserOnly()
    {
        var policy = new AccessPolicy([77, Stranger], Group: null);

        Assert.That(Admits(policy, Stranger));
        Assert.That(Admits(policy, 77));
        Assert.That(Admits(policy, Stranger + 1), Is.False);
        Assert.That(policy.IsShared);
    }

    [Test]
    public void Admits_OfAMemberByTheOwnGroup_IsTrue()
    {
        var policy = new AccessPolicy([], Group: 88);

        Assert.That(Admits(policy, Stranger, group: 88));
        Assert.That(Admits(policy, Stranger, group: 89), Is.False);
    }

    // The number of a group is no user's, and the other way round.
    [Test]
    public void Admits_OfAUserWithTheNumberOfTheGroup_IsFalse()
    {
        Assert.That(Admits(new AccessPolicy([], Group: Stranger), Stranger), Is.False);
        Assert.That(Admits(new AccessPolicy([88], Group: null), Stranger, group: 88), Is.False);
    }

    [Test]
    public void Describe_OfUsersAndAGroup_NamesAll()
    {
        Assert.That(AccessPolicy.OwnUserOnly.Describe(), Is.EqualTo($"of user {Me} and of root"));
        Assert.That(
            new AccessPolicy([7, 8], 9).Describe(),
            Is.EqualTo($"of user {Me}, of the users 7, 8, of the members of group 9 and of root"));
    }

    private bool Admits(AccessPolicy policy, uint user, uint group = 1_000_000) =>
        policy.Admits(new PeerIdentity(1, user, group), _sockets.ServerWire);
}
