using System.Text;
using Grpc.Core;
using RpcOverShm.Calls;
using RpcOverShm.Diagnostics;
using RpcOverShm.Protocol;
using RpcOverShm.Servers;

namespace RpcOverShm.Tests.Servers;

/// <summary>A refused call is not counted. Only a server that leaves says that no method has seen the call.</summary>
internal sealed class CallAdmissionTests
{
    [TestCase("method", StatusCode.Unimplemented)]
    [TestCase("codec", StatusCode.Unimplemented)]
    [TestCase("encoding", StatusCode.Unimplemented)]
    [TestCase("metadata", StatusCode.ResourceExhausted)]
    [TestCase("metadata that was not read", StatusCode.ResourceExhausted)]
    [TestCase("message", StatusCode.ResourceExhausted)]
    public void Refuse_OfACallThatNoServerTakes_IsFinalAndCountsNothing(string bad, StatusCode code)
    {
        using var rig = new ServedRig();
        var head = new RequestHead
        {
            Codec = bad == "codec" ? "xor" : null,
            Encoding = bad == "encoding" ? "br" : null,
            Metadata = bad == "metadata" ? new Metadata { { "key", new string('x', 1000) } } : null,
            IsMetadataTooLarge = bad == "metadata that was not read",
        };

        long before = LimitEvents.CountOf("MaxMetadataSize");

        StatusTrailer? refusal = Refuse(
            rig, bad == "method" ? "/test.Rig/Other" : "/test.Rig/Unary", head, bad == "message" ? 1001 : 1000);

        Assert.That((refusal?.Status.StatusCode, refusal?.IsNotProcessed), Is.EqualTo((code, false)));
        Assert.That(rig.Server.PendingOrRunning, Is.Zero);
        Assert.That(
            LimitEvents.CountOf("MaxMetadataSize") > before,
            Is.EqualTo(bad.StartsWith("metadata", StringComparison.Ordinal)));
    }

    [Test]
    public void Refuse_AfterTheStop_SaysThatNoMethodHasSeenTheCall()
    {
        using var rig = new ServedRig();
        StatusTrailer? before = Refuse(rig);
        rig.Server.StopAccepting();

        StatusTrailer? after = Refuse(rig);

        Assert.That(before, Is.Null);
        Assert.That(after, Is.EqualTo(
            new StatusTrailer(StatusMapping.ServerStopping, Metadata: null, IsNotProcessed: true)));
        Assert.That(rig.Server.Admitted, Is.EqualTo(1));
    }

    private static StatusTrailer? Refuse(
        ServedRig rig, string method = "/test.Rig/Unary", RequestHead head = default, int messageLength = 0)
    {
        MethodHandler? handler = rig.Server.Settings.Methods.Find(Encoding.UTF8.GetBytes(method));
        return new ServerCall(rig.Server).Admit(handler, head, messageLength);
    }
}
