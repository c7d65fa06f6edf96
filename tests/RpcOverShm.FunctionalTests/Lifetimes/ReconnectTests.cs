namespace RpcOverShm.FunctionalTests.Lifetimes;

/// <summary>One channel and successive servers at the same address.</summary>
internal sealed class ReconnectTests() : RigFixture(RigKind.Shm)
{
    [Test]
    public async Task NewServer_AfterTheOldWasStopped_IsFoundByTheSameChannel()
    {
        ShmRig rig = await StartShmAsync(Answering("first"));
        Assert.That(rig.Client.Unary(Payloads.Empty).Text(), Is.EqualTo("first"));

        await rig.Server.StopAsync(TimeSpan.FromSeconds(10)).Bounded();
        RpcException failure = await FailureOf(rig.Client.UnaryAsync(Payloads.Empty));
        await rig.StartServerAsync(Answering("second").Build());

        Assert.That(failure.StatusCode, Is.EqualTo(StatusCode.Unavailable));
        Assert.That(rig.Client.Unary(Payloads.Empty).Text(), Is.EqualTo("second"));
        Assert.That((await rig.Client.UnaryAsync(Payloads.Empty).ResponseAsync.Bounded()).Text(), Is.EqualTo("second"));
    }

    [Test]
    public async Task NewServer_BesideOneThatStillEndsItsCalls_TakesTheNewOnes()
    {
        var mayEnd = new TaskCompletionSource();
        var began = new TaskCompletionSource();
        ShmRig rig = await StartShmAsync(new Script
        {
            Unary = async (_, _) =>
            {
                if (began.TrySetResult())
                {
                    await mayEnd.Task;
                }

                return Payloads.Of("first");
            },
        });
        ShmServer first = rig.Server;

        using AsyncUnaryCall<Payload> old = rig.Client.UnaryAsync(Payloads.Empty);
        await began.Task.Bounded();
        Task stopping = first.StopAsync();
        await Timeouts.Eventually(() => rig.FileNames.Length == 0, "the address is free");
        await rig.StartServerAsync(Answering("second").Build());
        await CallUntilAnsweredAsync(rig.Client, "second");

        Assert.That(stopping.IsCompleted, Is.False);
        mayEnd.SetResult();
        Assert.That((await old.ResponseAsync.Bounded()).Text(), Is.EqualTo("first"));
        await stopping.Bounded();
        Assert.That(rig.Client.Unary(Payloads.Empty).Text(), Is.EqualTo("second"));
    }

    [Test]
    public async Task Restarts_Many_UnderLoad_EndEachCallWellOrUnavailable()
    {
        const int Restarts = 20;
        ShmRig rig = await StartShmAsync(new Script());
        ScriptClient client = rig.Client;
        using var stop = new CancellationTokenSource();
        var odd = new List<Status>();
        long done = 0;

        Task[] callers = [.. Enumerable.Range(0, 6).Select(caller => Timeouts.OnThread(() =>
        {
            for (int i = 0; !stop.IsCancellationRequested; i++)
            {
                try
                {
                    _ = caller % 2 == 0
                        ? client.Unary(Payloads.OfSize(i % 3000))
                        : client.UnaryAsync(Payloads.OfSize(i % 3000)).ResponseAsync.GetAwaiter().GetResult();
                    Interlocked.Increment(ref done);
                }
                catch (RpcException exception) when (exception.StatusCode == StatusCode.Unavailable)
                {
                    Thread.Yield();
                }
                catch (RpcException exception)
                {
                    lock (odd)
                    {
                        odd.Add(exception.Status);
                    }
                }
            }
        }))];
        for (int i = 0; i < Restarts; i++)
        {
            long before = Interlocked.Read(ref done);
            await Timeouts.Eventually(() => Interlocked.Read(ref done) > before + 50, "calls succeed");
            await rig.Server.StopAsync(i % 2 == 0 ? TimeSpan.Zero : TimeSpan.FromSeconds(10)).Bounded();
            await rig.StartServerAsync(new Script().Build());
        }

        await stop.CancelAsync();
        await Task.WhenAll(callers).Bounded();

        Assert.That(odd, Is.Empty);
    }

    [Test]
    public async Task StreamsThatLive_EndUnavailable_WhenTheServerStops()
    {
        ShmRig rig = await StartShmAsync(new Script
        {
            Duplex = async (requests, responses, context) =>
            {
                await responses.WriteAsync(Payloads.Of("hello"));
                await Task.Delay(Timeout.Infinite, context.CancellationToken);
            },
        });

        using AsyncDuplexStreamingCall<Payload, Payload> call = rig.Client.Duplex();
        Assert.That(await call.ResponseStream.MoveNext(CancellationToken.None).Bounded());
        await rig.Server.StopAsync(TimeSpan.Zero).Bounded();
        RpcException read = await FailureOf(call.ResponseStream.MoveNext(CancellationToken.None));
        RpcException write = await FailureOf(call.RequestStream.WriteAsync(Payloads.Empty));

        Assert.That(read.StatusCode, Is.EqualTo(StatusCode.Unavailable));
        Assert.That(write.StatusCode, Is.EqualTo(StatusCode.Unavailable));
    }

    private static Script Answering(string name) => new() { Unary = (_, _) => Task.FromResult(Payloads.Of(name)) };

    // Until the old server's GoAway has arrived, calls still go to that server.
    private static Task CallUntilAnsweredAsync(ScriptClient client, string answer) => Timeouts.Eventually(() =>
    {
        try
        {
            return client.Unary(Payloads.Empty).Text() == answer;
        }
        catch (RpcException exception) when (exception.StatusCode == StatusCode.Unavailable)
        {
            return false;
        }
    });
}
