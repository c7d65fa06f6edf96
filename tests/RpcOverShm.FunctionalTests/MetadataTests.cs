using Grpc.Core;
using RpcOverShm.FunctionalTests.Rigs;
using RpcOverShm.Testing;

namespace RpcOverShm.FunctionalTests;

/// <summary>What travels beside the messages: request metadata, response headers, trailers.</summary>
[TestFixture(RigKind.Shm)]
[TestFixture(RigKind.GrpcCore)]
internal sealed class MetadataTests(RigKind kind) : RigFixture(kind)
{
    [Test]
    public async Task Request_MetadataOfTheCaller_IsNeitherChangedNorFrozen()
    {
        CallRig rig = await StartAsync(new Script());
        var headers = new Metadata { { "key", "value" } };

        await rig.Client.UnaryAsync(Payloads.Empty, new CallOptions(headers)).ResponseAsync.Bounded();
        headers.Add("another", "value");
        await rig.Client.UnaryAsync(Payloads.Empty, new CallOptions(headers)).ResponseAsync.Bounded();

        Assert.That(headers, Has.Count.EqualTo(2));
    }
}
