using System.Collections.Concurrent;
using System.Diagnostics;
using System.Runtime.CompilerServices;
using RpcOverShm.Connections;
using RpcOverShm.Links;

namespace RpcOverShm.FunctionalTests.Scheduling;

/// <summary>The threads that run user code, and the isolation of one call's context from the next.</summary>
[TestFixture(ShmSchedulingMode.Adaptive)]
[TestFixture(ShmSchedulingMode.Inline)]
[TestFixture(ShmSchedulingMode.ThreadPool)]
internal sealed class InlineCodeTests(ShmSchedulingMode mode) : RigFixture(RigKind.Shm)
{
    private const string LoopThread = "RpcOverShm loop";

    private static readonly AsyncLocal<string?> s_local = new();

    private readonly RigOptions _options = new() { Scheduling = mode };

    [Test]
    public async Task Method_ThatIsFast_RunsWhereTheModeSays()
    {
        var onPool = new ConcurrentQueue<bool>();
        ShmRig rig = await StartShmAsync(
            new Script
            {
                Unary = (request, _) =>
                {
                    onPool.Enqueue(Thread.CurrentThread.IsThreadPoolThread);
                    return Task.FromResult(request);
                },
            },
            _options);
        rig.Client.Unary(Payloads.Empty);

        Assert.That(onPool.Single(), Is.EqualTo(mode == ShmSchedulingMode.ThreadPool));
    }

    [Test]
    public async Task Method_ThatProvesSlow_GoesToThePoolUnlessToldOtherwise()
    {
        // Windows tells the processor time of a thread in steps of 10 ms or more.
        (int calls, double milliseconds) = OperatingSystem.IsWindows() ? (40, 40) : (200, 1);
        int onPool = 0;
        ShmRig rig = await StartShmAsync(
            new Script
            {
                Unary = (request, _) =>
                {
                    onPool += Thread.CurrentThread.IsThreadPoolThread ? 1 : 0;
                    long begun = Stopwatch.GetTimestamp();
                    while (Stopwatch.GetElapsedTime(begun) < TimeSpan.FromMilliseconds(milliseconds))
                    {
                        Thread.SpinWait(100);
                    }

                    return Task.FromResult(request);
                },
            },
            _options);

        for (int i = 0; i < calls; i++)
        {
            rig.Client.Unary(Payloads.Empty);
        }

        // Adaptive occasionally tries inline.
        Assert.That(onPool, mode switch
        {
            ShmSchedulingMode.Adaptive => Is.GreaterThan(calls / 2),
            ShmSchedulingMode.Inline => Is.Zero,
            _ => Is.EqualTo(calls),
        });
    }

    [Test]
    public async Task Continuation_OfAnAwaitedCall_RunsWhereTheModeSays()
    {
        ShmRig rig = await StartShmAsync(new Script(), _options);
        rig.Client.Unary(Payloads.Empty);
        var threads = new List<string?>();
        for (int i = 0; i < 200; i++)
        {
            await rig.Client.UnaryAsync(Payloads.Empty).ResponseAsync.ConfigureAwait(false);
            threads.Add(Thread.CurrentThread.Name);
        }

        // Inline is not guaranteed per call: if the response arrives before the await, the caller keeps its thread.
        Assert.That(
            threads,
            mode == ShmSchedulingMode.ThreadPool ? Has.None.EqualTo(LoopThread) : Has.Some.EqualTo(LoopThread));
    }

    [Test]
    public async Task Method_ThatHadToWaitForAWrite_GoesOnWhereTheModeSays()
    {
        // On a busy machine another thread may take the reader role over from a method that only waits for a processor.
        const int Calls = 20;
        TaskCompletionSource waits = new();
        var onPool = new ConcurrentQueue<bool>();
        ShmRig rig = await StartShmAsync(
            new Script
            {
                ServerStream = async (request, responses, _) =>
                {
                    Task write = responses.WriteAsync(request);
                    while (write.IsCompletedSuccessfully)
                    {
                        write = responses.WriteAsync(request);
                    }

                    waits.SetResult();
                    await write.ConfigureAwait(false);
                    onPool.Enqueue(Thread.CurrentThread.IsThreadPoolThread);
                },
            },
            _options);

        // Only a write that waits for credit goes on inline. So the ring must be larger than the credit of a call.
        long begun = Stopwatch.GetTimestamp();
        do
        {
            Assert.That(Stopwatch.GetElapsedTime(begun), Is.LessThan(Timeouts.Wait), "The ring grows.");
            rig.Client.Unary(Payloads.OfSize(20_000));
        }
        while (LinkOf(rig.OnlyConnection).Writer.MaxPayloadBytes < 32 << 10);

        for (int i = 0; i < Calls; i++)
        {
            waits = new TaskCompletionSource();
            using AsyncServerStreamingCall<Payload> call = rig.Client.ServerStream(Payloads.OfSize(50_000));
            await waits.Task.Bounded();
            await call.ResponseStream.ToListAsync().Bounded();
        }

        // Adaptive may classify such a method as slow; Inline leaves the reading thread only after a take-over.
        bool isAlwaysInline = mode == ShmSchedulingMode.Inline && rig.OnlyConnection.TakeOvers == 0;
        Assert.That(onPool, Has.Count.EqualTo(Calls));
        Assert.That(
            onPool,
            mode == ShmSchedulingMode.ThreadPool ? Has.All.EqualTo(true)
                : isAlwaysInline ? Has.All.EqualTo(false)
                : Has.Some.EqualTo(false));
    }

    [Test]
    public async Task Method_WhatItLeavesInItsContext_IsNotSeenByTheNext()
    {
        var seen = new ConcurrentQueue<(string? Local, Activity? Activity, SynchronizationContext? Context)>();
        ShmRig rig = await StartShmAsync(
            new Script
            {
                Unary = (request, _) =>
                {
                    seen.Enqueue((s_local.Value, Activity.Current, SynchronizationContext.Current));
                    s_local.Value = "left by the last call";
                    SynchronizationContext.SetSynchronizationContext(new SynchronizationContext());
                    new Activity("left by the last call").Start();
                    return Task.FromResult(request);
                },
            },
            _options);

        s_local.Value = "of the test";
        for (int i = 0; i < 20; i++)
        {
            rig.Client.Unary(Payloads.Empty);
            await rig.Client.UnaryAsync(Payloads.Empty).ResponseAsync.Bounded();
        }

        Assert.That(seen.Select(one => one.Local), Is.All.Null);
        Assert.That(seen.Select(one => one.Activity), Is.All.Null);
        Assert.That(seen.Select(one => one.Context), Is.All.Null);
    }

    [Test]
    public async Task Method_WhatItLeavesOfItsThread_IsNotSeenByTheNext()
    {
        var seen = new ConcurrentQueue<ThreadFacts>();
        ShmRig rig = await StartShmAsync(
            new Script
            {
                Unary = (request, _) =>
                {
                    seen.Enqueue(ThreadFacts.OfThisThread());
                    ThreadFacts.Change();
                    return Task.FromResult(request);
                },
            },
            _options);

        for (int i = 0; i < 20; i++)
        {
            rig.Client.Unary(Payloads.Empty);
            await Task.WhenAll(Enumerable.Range(0, 5).Select(_ => rig.Client.UnaryAsync(Payloads.Empty).ResponseAsync))
                .Bounded();
        }

        Assert.That(seen, Is.All.Matches<ThreadFacts>(static one => one.IsUnchanged));
    }

    [Test]
    public async Task Continuation_WhatItLeavesOfItsThread_IsNotSeenByTheNext()
    {
        ShmRig rig = await StartShmAsync(new Script(), _options);
        var seen = new List<ThreadFacts>();

        for (int i = 0; i < 200; i++)
        {
            await LeaveAsync();
        }

        Assert.That(seen, Is.All.Matches<ThreadFacts>(static one => one.IsUnchanged));

        async Task LeaveAsync()
        {
            int caller = Environment.CurrentManagedThreadId;
            await rig.Client.UnaryAsync(Payloads.Empty).ResponseAsync.ConfigureAwait(false);
            if (Environment.CurrentManagedThreadId != caller)
            {
                seen.Add(ThreadFacts.OfThisThread());
                ThreadFacts.Change();
            }

            // Leaves the thread: the library, or the pool, has it back.
            await Task.Yield();
        }
    }

    // The thread that has lost its loop waits as a spare, and takes the loop over from the next one that blocks.
    [Test]
    public async Task Method_ThatBlocks_LeavesItsThreadAsItWas()
    {
        var seen = new ConcurrentQueue<ThreadFacts>();
        ShmRig rig = await StartShmAsync(
            new Script
            {
                Unary = (request, _) =>
                {
                    seen.Enqueue(ThreadFacts.OfThisThread());
                    if (request.Text() == "block")
                    {
                        ThreadFacts.Change();
                        Thread.Sleep(20);
                    }

                    return Task.FromResult(request);
                },
            },
            _options);

        for (int i = 0; i < 20; i++)
        {
            Task blocked = rig.Client.UnaryAsync(Payloads.Of("block")).ResponseAsync;
            await rig.Client.UnaryAsync(Payloads.Empty).ResponseAsync.Bounded();
            await blocked.Bounded();
        }

        Assert.That(seen, Is.All.Matches<ThreadFacts>(static one => one.IsUnchanged));
    }

    [Test]
    public async Task Continuations_OfManyCalls_EachKeepTheirOwnContext()
    {
        ShmRig rig = await StartShmAsync(new Script(), _options);

        string?[] seen = await Task.WhenAll(Enumerable.Range(0, 100).Select(KeepAsync)).Bounded();

        Assert.That(seen, Is.EqualTo(Enumerable.Range(0, 100).Select(i => $"{i} {i}")));

        async Task<string?> KeepAsync(int number)
        {
            s_local.Value = $"{number}";
            await rig.Client.UnaryAsync(Payloads.OfSize(number)).ResponseAsync.ConfigureAwait(false);
            string? first = s_local.Value;
            await rig.Client.UnaryAsync(Payloads.OfSize(number)).ResponseAsync.ConfigureAwait(false);
            return $"{first} {s_local.Value}";
        }
    }

    [Test]
    public async Task Await_UnderASynchronizationContext_ResumesThere()
    {
        ShmRig rig = await StartShmAsync(new Script(), _options);
        using var context = new OneThreadContext();

        await context.RunAsync(async () =>
        {
            for (int i = 0; i < 50; i++)
            {
                Assert.That((await rig.Client.UnaryAsync(Payloads.OfSize(i))).IsOfSize(i));
                Assert.That(Environment.CurrentManagedThreadId, Is.EqualTo(context.ThreadId));
            }
        }).Bounded();
    }

    // No API exposes the ring.
    [UnsafeAccessor(UnsafeAccessorKind.Field, Name = "_link")]
    private static extern ref PeerLink LinkOf(Connection connection);
}
