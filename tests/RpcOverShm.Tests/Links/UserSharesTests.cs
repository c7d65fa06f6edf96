using RpcOverShm.Links;
using RpcOverShm.Systems;
using RpcOverShm.Tests.Systems;

namespace RpcOverShm.Tests.Links;

public class UserSharesTests
{
    private const uint Other = 12350;

    [Test]
    public void TryTake_BelowAtAndAboveTheShare_LeavesOtherUsersAlone()
    {
        var shares = new UserShares(2);
        Assert.That(shares.TryTake(Of(Other)));
        Assert.That(shares.TryTake(Of(Other, process: 2)));

        Assert.That(shares.TryTake(Of(Other, process: 3)), Is.False);
        Assert.That(shares.TryTake(Of(Other + 1)));
        shares.GiveBack(Of(Other));
        Assert.That(shares.TryTake(Of(Other)));
        Assert.That(shares.TryTake(Of(Other)), Is.False);
    }

    [Test]
    public void TryTake_OfTheOwnUser_IsWithoutLimit()
    {
        var shares = new UserShares(1);
        for (int i = 0; i < 3; i++)
        {
            Assert.That(shares.TryTake(Of(TestAccounts.Own)));
        }

        shares.GiveBack(Of(TestAccounts.Own));
    }

    [Test]
    public void TryTake_OfRoot_HasALimitUnlessThatIsTheOwnUser()
    {
        var shares = new UserShares(1);
        Account root = TestAccounts.AllPowerful;
        Assert.That(shares.TryTake(Of(root)));
        Assert.That(shares.TryTake(Of(root)), Is.EqualTo(root == TestAccounts.Own));
    }

    [TestCase(1, 1)]
    [TestCase(2, 1)]
    [TestCase(3, 2)]
    [TestCase(1000, 500)]
    public void HalfOf_IsRoundedUp(long all, long half) => Assert.That(UserShares.HalfOf(all), Is.EqualTo(half));

    private static PeerIdentity Of(uint user, int process = 1) => Of(TestAccounts.Of(user), process);

    private static PeerIdentity Of(Account user, int process = 1) => new(process, user, default);
}
