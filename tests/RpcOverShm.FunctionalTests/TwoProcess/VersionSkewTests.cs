using RpcOverShm.Protocol;

namespace RpcOverShm.FunctionalTests.TwoProcess;

/// <summary>Error messages between builds of different protocol versions.</summary>
[Parallelizable]
[OneMode]
internal sealed class VersionSkewTests : StandingPeerFixture
{
    [TestCase(2, 3, "versions 2 to 3", "server")]
    [TestCase(0, 0, "version 0", "client")]
    [TestCase(65535, 65535, "version 65535", "server")]
    public async Task Client_OfOtherVersions_IsRefusedWithBoth(int lowest, int highest, string said, string older)
    {
        await ServeAsync(new Script());
        PeerProcess peer = await TakePeerAsync();

        string answer = await peer.DoAsync($"hello {Place} {lowest} {highest}");

        Assert.That(answer, Does.StartWith("Refusal Version"));
        Assert.That(answer, Does.Contain(
            $"The client speaks protocol {said}, this server, {ProtocolVersion.Package}, speaks version 1. "
            + $"Update the {older}."));
        await Log.WaitForAsync(4);
        Assert.That(OpenClient().Unary(Payloads.Of("other")).Text(), Is.EqualTo("other"));
    }

    [TestCase(1, 1)]
    [TestCase(1, 9)]
    [TestCase(0, 65535)]
    public async Task Client_WithAVersionInCommon_IsAnsweredInIt(int lowest, int highest)
    {
        await ServeAsync(new Script());
        PeerProcess peer = await TakePeerAsync();

        string answer = await peer.DoAsync($"hello {Place} {lowest} {highest}");

        Assert.That(answer, Does.StartWith("Server 0 1"));
    }

    [TestCase(0, "server")]
    [TestCase(2, "client")]
    public async Task Server_OfAnotherVersion_FailsTheCallWithBoth(int version, string older)
    {
        PeerProcess peer = await TakePeerAsync();
        await peer.DoAsync($"answer {Place} {version}");

        RpcException failure = await CallFailure.OfBlocking(() => OpenClient().Unary(Payloads.Empty));

        Assert.That(failure.StatusCode, Is.EqualTo(StatusCode.Internal));
        Assert.That(
            failure.Status.Detail,
            Does.EndWith(
                $"chose protocol version {version}; this client, {ProtocolVersion.Package}, speaks version 1. "
                + $"Update the {older}."));
    }
}
