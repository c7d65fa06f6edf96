namespace RpcOverShm.FunctionalTests.CallShapes;

[EveryRig]
internal sealed class ConcurrencyTests(RigKind kind) : RigFixture(kind)
{
    [Test]
    public async Task BlockingCalls_FromManyThreads_EachGetTheirOwnAnswer([Values(2, 8, 32)] int threads)
    {
        const int CallsPerThread = 300;
        CallRig rig = await StartAsync(new Script());

        int[] wrong = await Task.WhenAll(Enumerable.Range(0, threads).Select(thread => Timeouts.OnThread(() =>
        {
            int count = 0;
            for (int i = 0; i < CallsPerThread; i++)
            {
                ulong seed = (ulong)((thread * CallsPerThread) + i);
                int bytes = (int)(seed % 1000);
                count += rig.Client.Unary(Payloads.OfSize(bytes, seed)).IsOfSize(bytes, seed) ? 0 : 1;
            }

            return count;
        }))).Bounded();

        Assert.That(wrong.Sum(), Is.Zero);
        AssertNoLostWakeUps(rig);
    }

    [Test]
    public async Task MixedShapes_FromManyTasks_AllAnswerRight([Values(1, 16)] int callers)
    {
        CallRig rig = await StartAsync(new Script());
        int seed = TestContext.CurrentContext.Random.Next();
        TestContext.Out.WriteLine($"seed {seed}");

        bool[] isRight = await Task.WhenAll(Enumerable.Range(0, callers).Select(caller => Task.Run(async () =>
        {
            var random = new Random(seed + caller);
            bool isRight = true;
            for (int i = 0; i < 60; i++)
            {
                isRight &= await Shapes.RunRandomAsync(rig.Client, random);
            }

            return isRight;
        }))).Bounded();

        Assert.That(isRight, Is.All.True);
        AssertNoLostWakeUps(rig);
    }

    [Test]
    public async Task BlockingAndAsyncCalls_TakeTurnsAtReading()
    {
        CallRig rig = await StartAsync(new Script());
        using var stop = new CancellationTokenSource();

        Task<int>[] background = [.. Enumerable.Range(0, 4).Select(_ => Task.Run(async () =>
        {
            int calls = 0;
            while (!stop.IsCancellationRequested)
            {
                await rig.Client.UnaryAsync(Payloads.OfSize(calls % 100));
                calls++;
            }

            return calls;
        }))];
        int[] blocking = await Task.WhenAll(Enumerable.Range(0, 4).Select(_ => Timeouts.OnThread(() =>
        {
            for (int i = 0; i < 1000; i++)
            {
                rig.Client.Unary(Payloads.OfSize(i % 100));
            }

            return 1000;
        }))).Bounded();
        await stop.CancelAsync();
        int[] asynchronous = await Task.WhenAll(background).Bounded();

        Assert.That(blocking.Sum(), Is.EqualTo(4000));
        Assert.That(asynchronous, Is.All.GreaterThan(0));
        AssertNoLostWakeUps(rig);
    }

    [Test]
    public async Task FirstCalls_OfANewChannel_ShareOneConnection()
    {
        CallRig rig = await StartAsync(new Script());

        await Task.WhenAll(
            Enumerable.Range(0, 200).Select(i => rig.Client.UnaryAsync(Payloads.OfSize(i)).ResponseAsync)).Bounded();

        if (rig is ShmRig shm)
        {
            Assert.That(shm.Served, Has.Count.EqualTo(1));
        }
    }

    [Test]
    public async Task SparseCalls_AfterTheConnectionHasGoneToSleep_AreAnswered()
    {
        CallRig rig = await StartAsync(new Script());

        for (int i = 0; i < 20; i++)
        {
            // Longer than the spin phase and the watchdog's period, so that both sides sleep.
            await Task.Delay(20);
            _ = await Timeouts.OnThread(() => rig.Client.Unary(Payloads.OfSize(i))).Bounded();
            await Task.Delay(20);
            _ = await rig.Client.UnaryAsync(Payloads.OfSize(i)).ResponseAsync.Bounded();
        }

        AssertNoLostWakeUps(rig);
    }

    private static void AssertNoLostWakeUps(CallRig rig)
    {
        if (rig is ShmRig shm)
        {
            Assert.That(shm.Served.Select(served => served.Connection.LostWakeups), Is.All.Zero);
        }
    }
}
