using RpcOverShm.Systems;

namespace RpcOverShm.Tests.Systems;

public class AccessPolicyTests
{
    private static readonly Account s_stranger = TestAccounts.Of(54321);

    private readonly WirePair _wires = new();

    private static Account Me => TestAccounts.Own;

    private static Account Root => TestAccounts.AllPowerful;

    private static string RootName => HostSystem.Current.AllPowerfulName;

    [TearDown]
    public void Close() => _wires.Dispose();

    [Test]
    public void Admits_OfTheOwnUserAndRoot_IsTrueWithoutAnyOption()
    {
        Assert.That(Admits(AccessPolicy.OwnUserOnly, Me));
        Assert.That(Admits(AccessPolicy.OwnUserOnly, Root));
        Assert.That(Admits(AccessPolicy.OwnUserOnly, s_stranger), Is.False);
        Assert.That(AccessPolicy.OwnUserOnly.IsShared, Is.False);
    }

    [Test]
    public void Admits_OfANamedUser_IsTrueForThisUserOnly()
    {
        var policy = new AccessPolicy([TestAccounts.Of(77), s_stranger], Group: null);

        Assert.That(Admits(policy, s_stranger));
        Assert.That(Admits(policy, TestAccounts.Of(77)));
        Assert.That(Admits(policy, TestAccounts.Of(54322)), Is.False);
        Assert.That(policy.IsShared);
    }

    [Test]
    public void Admits_OfAMemberByTheOwnGroup_IsTrue()
    {
        var policy = new AccessPolicy([], Group: TestAccounts.Of(88));

        Assert.That(Admits(policy, s_stranger, group: 88));
        Assert.That(Admits(policy, s_stranger, group: 89), Is.False);
    }

    // The number of a group is no user's, and the other way round.
    [Test]
    public void Admits_OfAUserWithTheNumberOfTheGroup_IsFalse()
    {
        Assert.That(Admits(new AccessPolicy([], Group: s_stranger), s_stranger), Is.False);
        Assert.That(Admits(new AccessPolicy([TestAccounts.Of(88)], Group: null), s_stranger, group: 88), Is.False);
    }

    [Test]
    public void Describe_OfUsersAndAGroup_NamesAll()
    {
        Assert.That(AccessPolicy.OwnUserOnly.Describe(), Is.EqualTo($"of user {Me} and of {RootName}"));
        Assert.That(
            new AccessPolicy([TestAccounts.Of(7), TestAccounts.Of(8)], TestAccounts.Of(9)).Describe(),
            Is.EqualTo(
                $"of user {Me}, of the users {TestAccounts.Of(7)}, {TestAccounts.Of(8)}, "
                + $"of the members of group {TestAccounts.Of(9)} and of {RootName}"));
    }

    private bool Admits(AccessPolicy policy, Account user, uint group = 1_000_000) =>
        policy.Admits(new PeerIdentity(1, user, TestAccounts.Of(group)), _wires.ServerWire);
}
