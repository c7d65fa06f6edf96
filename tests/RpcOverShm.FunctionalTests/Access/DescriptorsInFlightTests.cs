using RpcOverShm.FunctionalTests.Hostile;

namespace RpcOverShm.FunctionalTests.Access;

/// <summary>
/// A client whose user has as many descriptors in flight as the kernel allows cannot send its hello. It holds no other
/// user up.
/// </summary>
[RootFixture]
[OneMode]
internal sealed class DescriptorsInFlightTests : OtherUserFixture
{
    // The kernel compares the descriptors in flight of all processes of the user with this limit of the sender.
    private const int MaxDescriptors = 256;

    [Test]
    public async Task Client_OfAUserWithAllDescriptorsInFlight_SaysSoAtOnce_AndWorksAfterwards()
    {
        MakeRunDirectory(0x1C9);
        await ServeAsync("12350", "-");
        PeerProcess client = await StartPeerAsync(Guest with { MaxDescriptors = MaxDescriptors });
        await client.DoAsync($"channel {Address} {RunDirectory} 12340");
        Assert.That(int.Parse(await client.DoAsync("send-descriptors")), Is.GreaterThan(MaxDescriptors));

        string answer = await client.DoAsync("echo 1");

        Assert.That(answer, Does.StartWith("Unavailable").And.Contain(
            "Cannot pass descriptors to the other process: the processes of user 12350 have as many descriptors "
            + "on their way through sockets as one of them may open (ETOOMANYREFS)."));
        await client.DoAsync("drop-descriptors");
        Assert.That(await CallUntilRightAsync(client), Is.EqualTo("right"));
    }

    // Newcomers of the same user are told at once, by the test above. All others are as before: the connection that the
    // user has, an innocent client and newcomers of another user.
    [Test]
    [Category("Attack")]
    [Long(
        "The attack measures newcomers for seconds, up to three times.",
        "DescriptorsInFlightTests.Client_OfAUserWithAllDescriptorsInFlight_SaysSoAtOnce_AndWorksAfterwards")]
    public async Task AllDescriptorsOfAUserInFlight_HoldNoOtherUserUp()
    {
        MakeRunDirectory(0x1C9);
        await ServeAsync("12350", "-");
        PeerProcess standing = await StartPeerAsync(Guest);
        await standing.DoAsync($"channel {Address} {RunDirectory} 12340");
        Assert.That(await standing.DoAsync("echo 1"), Is.EqualTo("right"));
        PeerProcess attacker = await StartPeerAsync(Guest with { MaxDescriptors = MaxDescriptors });
        var meter = new FrontDoorMeter(Address, options =>
        {
            options.Connect.RuntimeDirectory = RunDirectory;
            options.Connect.TrustedServerUsers.Add($"{Service.User}");
        });

        await meter.AssertHarmlessAsync(async (stands, over) =>
        {
            await attacker.DoAsync("send-descriptors");

            // A channel of this run: an earlier one may have connected after the end of the run before.
            await attacker.DoAsync($"channel {Address} {RunDirectory} 12340");
            Assert.That(await attacker.DoAsync("echo 1"), Does.StartWith("Unavailable").And.Contain("ETOOMANYREFS"));
            await attacker.DoAsync("close");
            stands();
            do
            {
                Assert.That(await standing.DoAsync("echo 1"), Is.EqualTo("right"));
            }
            while (!over.IsCompleted);
            await attacker.DoAsync("drop-descriptors");
        });
    }

    // The kernel frees what was in flight in its own time, and the channel pauses before it connects again.
    private static async Task<string> CallUntilRightAsync(PeerProcess client)
    {
        string answer = "";
        await Timeouts.Eventually(() =>
        {
            answer = client.DoAsync("echo 1").GetAwaiter().GetResult();
            return answer == "right";
        });
        return answer;
    }
}
