using Grpc.Core;
using RpcOverShm.Testing;

namespace RpcOverShm.FunctionalTests.TwoProcess;

/// <summary>Builds of different protocol versions tell each other so.</summary>
internal sealed class VersionSkewTests : PeerFixture
{
    [TestCase(2, 3)]
    [TestCase(0, 0)]
    [TestCase(65535, 65535)]
    public async Task Client_OfOtherVersions_IsRefusedWithBoth(int lowest, int highest)
    {
        await ServeAsync(new Script());
        PeerProcess peer = await StartPeerAsync();

        string answer = await peer.DoAsync($"hello {Directory.Combine(SocketName)} {lowest} {highest}");

        Assert.That(answer, Does.StartWith("Refusal Version"));
        Assert.That(answer, Does.Contain($"speaks protocol versions {lowest} to {highest}, the server 1 to 1"));
        Assert.That(Log.Of(4), Is.Not.Empty);
        Assert.That(OpenClient().Unary(Payloads.Of("other")).Text(), Is.EqualTo("other"));
    }

    [TestCase(1, 1)]
    [TestCase(1, 9)]
    [TestCase(0, 65535)]
    public async Task Client_WithAVersionInCommon_IsAnsweredInIt(int lowest, int highest)
    {
        await ServeAsync(new Script());
        PeerProcess peer = await StartPeerAsync();

        string answer = await peer.DoAsync($"hello {Directory.Combine(SocketName)} {lowest} {highest}");

        Assert.That(answer, Does.StartWith("Server 0 1"));
    }

    [TestCase(0)]
    [TestCase(2)]
    public async Task Server_OfAnotherVersion_FailsTheCallWithBoth(int version)
    {
        PeerProcess peer = await StartPeerAsync();
        await peer.DoAsync($"answer {Directory.Combine(SocketName)} {version}");

        RpcException failure = await CallFailure.OfBlocking(() => OpenClient().Unary(Payloads.Empty));

        Assert.That(failure.StatusCode, Is.EqualTo(StatusCode.Internal));
        Assert.That(
            failure.Status.Detail, Does.Contain($"chose protocol version {version}; this client speaks 1 to 1"));
    }
}
