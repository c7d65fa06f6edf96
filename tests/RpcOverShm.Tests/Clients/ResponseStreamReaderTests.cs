using Grpc.Core;
using RpcOverShm.Clients;
using RpcOverShm.Tests.Connections;
using static RpcOverShm.Tests.Clients.HandServedCalls;

namespace RpcOverShm.Tests.Clients;

/// <summary>A stream's end, between its arrival and the read that reports it.</summary>
internal sealed class ResponseStreamReaderTests
{
    [Test]
    public async Task Read_BesideAPendingOne_IsRefusedUntilThereIsAnEndToReport([Values] bool isOk)
    {
        using var rig = new CallingRig();
        var call = rig.Start(new StreamResponseCall<string>(new LooseMethod()));
        Task<bool> pending = call.Responses.MoveNext(CancellationToken.None);
        Task<bool> refused = call.Responses.MoveNext(CancellationToken.None);

        call.EndByServer(isOk ? Status.DefaultSuccess : Planned);
        Task<bool> beside = call.Responses.MoveNext(CancellationToken.None);
        (bool, bool) completed = (pending.IsCompleted, beside.IsCompleted);
        call.RunUserCode();

        Assert.That(async () => await refused, Throws.InvalidOperationException);
        Assert.That(completed, Is.EqualTo((false, true)));
        foreach (Task<bool> read in new[] { beside, pending })
        {
            if (isOk)
            {
                Assert.That(await read.Bounded(), Is.False);
            }
            else
            {
                AssertFailed(read, Planned);
            }
        }
    }
}
