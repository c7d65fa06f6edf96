using RpcOverShm.Links;
using RpcOverShm.Linux;
using RpcOverShm.Systems;

namespace RpcOverShm.Tests.Links;

public class UserSharesTests
{
    private const uint Other = 12350;

    private static uint Own => LinuxNative.GetEffectiveUserId();

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
            Assert.That(shares.TryTake(Of(Own)));
        }

        shares.GiveBack(Of(Own));
    }

    [Test]
    public void TryTake_OfRoot_HasALimitUnlessThatIsTheOwnUser()
    {
        var shares = new UserShares(1);
        Assert.That(shares.TryTake(Of(0)));
        Assert.That(shares.TryTake(Of(0)), Is.EqualTo(Own == 0));
    }

    [TestCase(1, 1)]
    [TestCase(2, 1)]
    [TestCase(3, 2)]
    [TestCase(1000, 500)]
    public void HalfOf_IsRoundedUp(long all, long half) => Assert.That(UserShares.HalfOf(all), Is.EqualTo(half));

    private static PeerIdentity Of(uint user, int process = 1) => new(process, user, 0);
}
