using RpcOverShm.FunctionalTests.Connectivity;

namespace RpcOverShm.FunctionalTests.Lifetimes;

internal sealed class ChannelLifetimeTests() : RigFixture(RigKind.Shm)
{
    [Test]
    public async Task Dispose_InEveryWay_AndTwice_DoesNothingMore()
    {
        ShmRig rig = await StartShmAsync(new Script());
        rig.Client.Unary(Payloads.Empty);

        rig.ShmChannel.Dispose();
        rig.ShmChannel.Dispose();
        await rig.ShmChannel.DisposeAsync();
        await rig.ShmChannel.ShutdownAsync().Bounded();
    }

    [Test]
    public async Task Shutdown_OfAnUnusedChannel_IsNothing()
    {
        ShmRig rig = await StartShmAsync(new Script());

        await rig.ShmChannel.ShutdownAsync().Bounded();

        Assert.That(rig.Served, Is.Empty);
    }

    [Test]
    public async Task Dispose_FreesTheServersEndToo()
    {
        ShmRig rig = await StartShmAsync(new Script());
        rig.Client.Unary(Payloads.Empty);
        Assert.That(rig.Served, Has.Count.EqualTo(1));

        await rig.ShmChannel.DisposeAsync();

        await Timeouts.Eventually(() => rig.Served.Count == 0);
        await CallRig.WhenLoggedAsync();
        Assert.That(rig.Log.Of(102), Is.Empty, "an orderly end is no loss");
    }

    // Simulates a shutdown while another thread is about to request a connection.
    [Test]
    public async Task Shutdown_WhileTheRequestIsSerialised_CancelsTheCall(
        [Values] bool isBlocking, [Values] bool isRetried)
    {
        ShmRig rig = await StartShmAsync(
            new Script(), new RigOptions { Retries = isRetried ? new RigRetries(3, StatusCode.Unavailable) : null });
        Task? shutdown = null;
        Method<Payload, Payload> closing = Script.UnaryMethod.Serializing(
            () => shutdown = rig.ShmChannel.ShutdownAsync());

        RpcException failure = isBlocking
            ? await CallFailure.OfBlocking(
                () => rig.Invoker.BlockingUnaryCall(closing, null, default, Payloads.Empty))
            : await FailureOf(rig.Invoker.AsyncUnaryCall(closing, null, default, Payloads.Empty));

        Assert.That(failure.StatusCode, Is.EqualTo(StatusCode.Cancelled));
        Assert.That(shutdown, Is.Not.Null);
        await shutdown.Bounded();
    }

    [Test]
    public async Task Dispose_WhileConnecting_CancelsTheCallsThatWait()
    {
        ShmRig rig = await StartWithoutServerAsync();

        // The listener never answers, so connecting lasts until its timeout.
        using SilentListener silent = new(rig.Place);
        ScriptClient client = rig.Client;
        Task<RpcException> blocking = CallFailure.OfBlocking(() => client.Unary(Payloads.Empty));
        await silent.Accepted.Bounded();
        Task<RpcException> awaited = FailureOf(client.UnaryAsync(Payloads.Empty));
        await rig.ShmChannel.DisposeAsync().Bounded();

        Assert.That((await awaited).StatusCode, Is.EqualTo(StatusCode.Cancelled));
        Assert.That((await blocking).StatusCode, Is.EqualTo(StatusCode.Cancelled));
    }

    [Test]
    public async Task Dispose_FromACallsOwnContinuation_DoesNotDeadlock()
    {
        ShmRig rig = await StartShmAsync(new Script());

        Task disposing = Task.Run(async () =>
        {
            await rig.Client.UnaryAsync(Payloads.Empty);
            rig.ShmChannel.Dispose();
        });

        await disposing.Bounded();
    }

    [Test]
    public async Task Dispose_WhileManyThreadsCall_EndsEachCallWithoutAHang()
    {
        for (int round = 0; round < 10; round++)
        {
            ShmRig rig = await StartShmAsync(new Script());
            ScriptClient client = rig.Client;
            using var running = new CountdownEvent(8);
            Task<int>[] callers =
            [
                .. Enumerable.Range(0, 8).Select(i => Timeouts.OnThread(() => CallUntilDisposed(client, i, running))),
            ];
            running.Wait(Timeouts.Wait);
            await rig.ShmChannel.DisposeAsync().Bounded();
            int[] odd = await Task.WhenAll(callers).Bounded();

            Assert.That(odd.Sum(), Is.Zero, "a call ends well, Cancelled, or is refused as disposed");
        }
    }

    private static int CallUntilDisposed(ScriptClient client, int caller, CountdownEvent running)
    {
        int odd = 0;
        for (int i = 0; ; i++)
        {
            try
            {
                if (caller % 2 == 0)
                {
                    client.Unary(Payloads.OfSize(i % 5000));
                }
                else
                {
                    client.UnaryAsync(Payloads.OfSize(i % 5000)).ResponseAsync.GetAwaiter().GetResult();
                }
            }
            catch (ObjectDisposedException)
            {
                return odd;
            }
            catch (RpcException exception)
            {
                odd += exception.StatusCode == StatusCode.Cancelled ? 0 : 1;
            }

            if (i == 10)
            {
                running.Signal();
            }
        }
    }
}
