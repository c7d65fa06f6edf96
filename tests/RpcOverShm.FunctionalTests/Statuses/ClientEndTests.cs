namespace RpcOverShm.FunctionalTests.Statuses;

/// <summary>Calls whose results are never observed, and channels that end.</summary>
[EveryRig]
internal sealed class ClientEndTests(RigKind kind) : RigFixture(kind)
{
    [Test]
    [Item("C16")]
    public async Task ExceptionsOfCallsThatNobodyAwaits_AreNeverUnobserved()
    {
        IReadOnlyList<Exception> unobserved = await Unobserved.InAsync(async () =>
        {
            CallRig rig = await StartAsync(new Script
            {
                Unary = (_, _) => throw new RpcException(new Status(StatusCode.Aborted, "nobody looks")),
                ClientStream = (_, _) => throw new RpcException(new Status(StatusCode.Aborted, "nobody looks")),
                Duplex = (_, _, context) => Task.Delay(Timeout.Infinite, context.CancellationToken),
            });
            await UnobservedCalls.DropAsync(rig.Client);
            await rig.KillServerAsync().Bounded();
            await UnobservedCalls.DropAsync(rig.Client);
            await rig.ShutDownChannelAsync().Bounded();
        });

        // The other rigs leave failures of unobserved responses to the finalizer.
        Assert.That(unobserved, IsShm ? Is.Empty : Is.All.TypeOf<RpcException>());
    }

    [Test]
    [Item("C17")]
    public async Task CallAfterTheShutdown_ThrowsItself([Values] bool hasCalledBefore, [Values] bool isDispose)
    {
        CallRig rig = await StartAsync(new Script());
        ScriptClient client = rig.Client;
        if (hasCalledBefore)
        {
            client.Unary(Payloads.Empty);
        }

        if (isDispose && rig is ShmRig shm)
        {
            // Grpc.Core's channel has no Dispose.
            shm.ShmChannel.Dispose();
        }
        else
        {
            await rig.ShutDownChannelAsync().Bounded();
        }

        Assert.That(() => client.Unary(Payloads.Empty), Throws.TypeOf<ObjectDisposedException>());
        Assert.That(() => client.UnaryAsync(Payloads.Empty), Throws.TypeOf<ObjectDisposedException>());
        Assert.That(() => client.ServerStream(Payloads.Empty), Throws.TypeOf<ObjectDisposedException>());
        Assert.That(() => client.ClientStream(), Throws.TypeOf<ObjectDisposedException>());
        Assert.That(() => client.Duplex(), Throws.TypeOf<ObjectDisposedException>());
        if (IsDotNet)
        {
            Assert.That(() => rig.Channel.CreateCallInvoker(), Throws.TypeOf<ObjectDisposedException>());
        }
    }
}
