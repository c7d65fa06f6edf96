using RpcOverShm.Buffers;
using RpcOverShm.FunctionalTests.Hostile;
using RpcOverShm.FunctionalTests.Inspectors;
using RpcOverShm.FunctionalTests.Instances;
using RpcOverShm.Protocol;
using RpcOverShm.Servers;
using static RpcOverShm.FunctionalTests.Hostile.RawFrames;

namespace RpcOverShm.FunctionalTests.Limits;

/// <summary>
/// A client that does not read its answers: half of the limit is for them. Then no method begins, and the answers of
/// those that have ended wait with them.
/// </summary>
internal sealed class UnreadAnswerTests : BufferFixture
{
    private const int AnswerBytes = 100 << 10; // in an array of 128 KiB, so that four fit

    // Those that several threads serialise at the same moment find the same room, and all are kept: one for each thread
    // of the narrow pool, and one for the thread that reads requests.
    private const long MostUnsentBytes =
        (LimitBytes / 2) + ((NarrowPool.MostThreads + 1) * (AnswerBytes + (32L << 10)));

    // Half of the limit is for answers: four of 128 KiB fit. Methods that have begun wait with theirs.
    [Test]
    public async Task UnreadAnswers_BeyondTheirShare_LetNewCallsWait()
    {
        const int Calls = 50;
        int begun = 0;
        var script = new Script
        {
            Unary = (_, _) =>
            {
                Interlocked.Increment(ref begun);
                return Task.FromResult(Payloads.OfSize(AnswerBytes));
            },
        };
        ShmRig rig = await StartShmAsync(script, Options() with { RingCapacity = 64 << 10 });
        using RawPeer peer = await RawPeer.ConnectAsync(rig.Place, PeerRing);
        BufferBudget budget = await BudgetAsync(rig);
        ServerConnection served = rig.Served.Single(one => one.BufferBudget == budget);
        using (NarrowPool.Enter())
        {
            for (int i = 0; i < Calls; i++)
            {
                await StartWholeAsync(peer, i, Message("x"));
            }

            await peer.ReadByVictimAsync();
            await Timeouts.Eventually(
                () => Volatile.Read(ref begun) + served.Queued == Calls && budget.IsSendQueueFull);
        }

        (int Begun, long Bytes, bool IsFull) meanwhile = (begun, budget.UnsentBytes, budget.IsSendQueueFull);
        await AssertServedAsync(rig);
        await StartWholeAsync(peer, Calls, Message("x"));
        await Timeouts.Eventually(() => served.Queued > 0, "the next call waits");
        LogEntry logged = await rig.Log.WaitForAsync(LimitReached);
        for (int i = 0; i <= Calls; i++)
        {
            await peer.ReceiveAsync(FrameKind.End);
        }

        Assert.That(meanwhile.IsFull);
        Assert.That(meanwhile.Bytes, Is.InRange((LimitBytes / 2) + 1, MostUnsentBytes));
        Assert.That(
            logged.Message, Does.StartWith("MaxConnectionBufferSize").And.Contain("leaves responses unread"));
        Assert.That($"{logged.Level}", Is.EqualTo("Warning"));
        Assert.That(begun, Is.EqualTo(Calls + 2), "The innocent client's call is the other one.");
        await AssertNothingKeptAsync(rig, budget);
    }

    [Test]
    public async Task CallsThatWaitForOneLargeAnswer_AllBeginWhenItHasGone()
    {
        const int Waiting = 20;
        int begun = 0;
        var mayEnd = new TaskCompletionSource(TaskCreationOptions.RunContinuationsAsynchronously);
        var script = new Script
        {
            Unary = async (request, _) =>
            {
                if (request.Text() == "large")
                {
                    return Payloads.OfSize(5 * LimitBytes); // It takes an array of 8 MiB.
                }

                Interlocked.Increment(ref begun);
                await mayEnd.Task;
                return request;
            },
        };
        var options = new RigOptions
        {
            RingCapacity = 64 << 10,
            Server = options => options.Limits.MaxConnectionBufferSize = 12 * LimitBytes,
        };
        ShmRig rig = await StartShmAsync(script, options);
        using RawPeer peer = await RawPeer.ConnectAsync(rig.Place, PeerRing);
        BufferBudget budget = await BudgetAsync(rig);
        await StartWholeAsync(peer, 0, Message("large"));
        await Timeouts.Eventually(() => budget.IsSendQueueFull);
        for (int i = 1; i <= Waiting; i++)
        {
            await StartWholeAsync(peer, i, Message("x"));
        }

        ServerConnection served = rig.Served.Single(one => one.BufferBudget == budget);
        await Timeouts.Eventually(() => served.Queued == Waiting, "all wait");
        await peer.ReceiveAsync(FrameKind.End);

        await Timeouts.Eventually(() => Volatile.Read(ref begun) == Waiting, "all have begun, and none has ended");
        mayEnd.SetResult();
        for (int i = 1; i <= Waiting; i++)
        {
            await peer.ReceiveAsync(FrameKind.End);
        }

        await AssertNothingKeptAsync(rig, budget);
    }

    // The place is the server's, and only this client decides how long its method waits.
    [Test]
    public async Task MethodThatWaitsToAnswer_LeavesItsPlaceToAnotherClient()
    {
        TaskCompletionSource[] mayEnd = [new(), new()];
        using var begun = new CountdownEvent(mayEnd.Length);
        using var both = new Barrier(2);
        var script = new Script
        {
            Unary = async (request, _) =>
            {
                if (request.Text() == "both")
                {
                    await Timeouts.OnThread(() => both.SignalAndWait(Timeouts.Wait));
                    return request;
                }

                begun.Signal();
                await mayEnd[int.Parse(request.Text())].Task;
                return Payloads.OfSize(LimitBytes / 2);
            },
        };
        ShmRig rig = await StartShmAsync(
            script,
            Options(change: options => options.Limits.MaxConcurrentCalls = 2) with { RingCapacity = 64 << 10 });
        using RawPeer peer = await RawPeer.ConnectAsync(rig.Place, PeerRing);
        BufferBudget budget = await BudgetAsync(rig);
        ServerConnection served = rig.Served.Single(one => one.BufferBudget == budget);
        await StartWholeAsync(peer, 0, Message("0"));
        await StartWholeAsync(peer, 1, Message("1"));
        Assert.That(begun.Wait(Timeouts.Wait));
        mayEnd[0].SetResult();
        await Timeouts.Eventually(() => budget.IsSendQueueFull);
        mayEnd[1].SetResult();
        await Timeouts.Eventually(() => served.UnsentResponses == 1, "the second answer waits");

        Task<Payload>[] others =
            [.. Enumerable.Range(0, 2).Select(_ => rig.Client.UnaryAsync(Payloads.Of("both")).ResponseAsync)];
        await Task.WhenAll(others).Bounded();

        await peer.ReceiveAsync(FrameKind.End);
        await peer.ReceiveAsync(FrameKind.End);
        await AssertNothingKeptAsync(rig, budget);
    }

    [Test]
    public async Task MessagesOfManyStreams_WaitAsAnswersDo()
    {
        const int Calls = 50;
        int begun = 0;
        var mayWrite = new TaskCompletionSource(TaskCreationOptions.RunContinuationsAsynchronously);
        var inspector = new RecordingInspector();
        var script = new Script
        {
            ServerStream = async (_, responses, _) =>
            {
                Interlocked.Increment(ref begun);
                await mayWrite.Task;
                await responses.WriteAsync(Payloads.OfSize(AnswerBytes));
            },
        };
        RigOptions options = Options(change: options => options.MessageInspectors.Add(inspector));
        ShmRig rig = await StartShmAsync(script, options with { RingCapacity = 64 << 10 });
        using RawPeer peer = await RawPeer.ConnectAsync(rig.Place, PeerRing);
        BufferBudget budget = await BudgetAsync(rig);
        ServerConnection served = rig.Served.Single(one => one.BufferBudget == budget);
        for (int i = 0; i < Calls; i++)
        {
            await StartWholeAsync(peer, i, Message("x"), ServerStreamHead);
        }

        await Timeouts.Eventually(() => Volatile.Read(ref begun) == Calls);
        using (NarrowPool.Enter())
        {
            mayWrite.SetResult();
            await Timeouts.Eventually(() => served.UnsentResponses == Calls - CountMessages());
        }

        int serialised = CountMessages();
        long bytes = budget.UnsentBytes;
        int ended = 0;
        while (ended < Calls)
        {
            ended += (await peer.ReceiveAsync()).Kind == FrameKind.End ? 1 : 0;
        }

        Assert.That(serialised, Is.InRange(1, Calls / 2));
        Assert.That(bytes, Is.InRange((LimitBytes / 2) + 1, MostUnsentBytes));
        Assert.That(CountMessages(), Is.EqualTo(Calls));
        await AssertNothingKeptAsync(rig, budget);

        int CountMessages() => inspector.All.Count(seen => !seen.IsRequest);
    }

    // All calls are let begin, and wait in the thread pool or for each other, before the first answer is there.
    [TestCase(40, false)]
    [TestCase(40, true)]
    [TestCase(200, false, Category = LongAttribute.Name)]
    [TestCase(200, true, Category = LongAttribute.Name)]
    public async Task MethodsThatWereLetBegin_WaitAgainBehindUnreadAnswers(int calls, bool isOrdered)
    {
        int begun = 0;
        int waitingBefore = -1;
        var probe = new Probe
        {
            Run = (_, _, _) =>
            {
                Interlocked.Increment(ref begun);
                SpinWait.SpinUntil(() => waitingBefore >= 0, Timeouts.Wait);
                return Task.FromResult(Payloads.OfSize(AnswerBytes));
            },
        };
        RigOptions options = Options() with
        {
            RingCapacity = 64 << 10,
            Scheduling = ShmSchedulingMode.ThreadPool,
            Services = services => services.Add(
                probe.Create, new ShmServiceOptions { EnableOrderedDispatch = isOrdered }),
        };
        ShmRig rig = await StartShmAsync(new Script(), options);
        using RawPeer peer = await RawPeer.ConnectAsync(rig.Place, PeerRing);
        BufferBudget budget = await BudgetAsync(rig);
        ServerConnection served = rig.Served.Single(one => one.BufferBudget == budget);
        byte[] head = Head($"/{ConformanceContract.Descriptor.FullName}/Echo");
        int begunUnread;
        using (NarrowPool.Enter())
        {
            // Not awaited: the pool has hardly a thread but this one, and methods that begin wait for the last call.
            for (int i = 0; i < calls; i++)
            {
                Task sent = StartWholeAsync(peer, i, Message("x"), head);
                Assert.That(sent.IsCompletedSuccessfully, "The ring has room.");
            }

            Assert.That(SpinWait.SpinUntil(() => served.PendingOrRunning == calls, Timeouts.Wait));
            waitingBefore = served.Queued;
            await Timeouts.Eventually(() => budget.IsSendQueueFull && begun + served.Queued == calls);
            begunUnread = begun;
        }

        var ended = new HashSet<CallId>();
        for (int i = 0; i < calls; i++)
        {
            ended.Add((await peer.ReceiveAsync(FrameKind.End)).Call);
        }

        Assert.That(waitingBefore, Is.EqualTo(isOrdered ? calls - 1 : 0), "no call waited for an answer, but in order");
        Assert.That(begunUnread, Is.LessThan(calls / 2), "four answers, and those that the pool ran at the time");
        Assert.That((begun, ended.Count), Is.EqualTo((calls, calls)));
        await AssertNothingKeptAsync(rig, budget);
    }

    [Test]
    public async Task AnswersThatWaited_AreSerialisedForNoClosedConnection([Values] bool isStream)
    {
        const int Calls = 50;
        int begun = 0;
        int ended = 0;
        var mayEnd = new TaskCompletionSource(TaskCreationOptions.RunContinuationsAsynchronously);
        var script = new Script
        {
            Unary = (_, _) => EndAsync(),
            ClientStream = (_, _) => EndAsync(),
        };
        var inspector = new RecordingInspector();
        RigOptions options = Options(change: options => options.MessageInspectors.Add(inspector));
        ShmRig rig = await StartShmAsync(script, options with { RingCapacity = 64 << 10 });
        using RawPeer peer = await RawPeer.ConnectAsync(rig.Place, PeerRing);
        BufferBudget budget = await BudgetAsync(rig);
        ServerConnection served = rig.Served.Single(one => one.BufferBudget == budget);
        byte[] head = Head(isStream ? Script.ClientStreamMethod : Script.UnaryMethod);
        for (int i = 0; i < Calls; i++)
        {
            await StartWholeAsync(peer, i, Message("x"), head);
        }

        // One that has not begun would wait for its turn behind the answers, not to answer.
        await Timeouts.Eventually(() => Volatile.Read(ref begun) == Calls);
        mayEnd.SetResult();
        await Timeouts.Eventually(
            () => Volatile.Read(ref ended) == Calls && served.UnsentResponses == Calls - CountAnswers());
        int before = CountAnswers();
        peer.Dispose();
        await Timeouts.Eventually(() => served.PendingOrRunning == 0, "all methods have returned");

        Assert.That(before, Is.InRange(1, Calls - 1));
        Assert.That(CountAnswers(), Is.EqualTo(before));
        await AssertNothingKeptAsync(rig, budget);

        int CountAnswers() => inspector.All.Count(seen => !seen.IsRequest);

        async Task<Payload> EndAsync()
        {
            Interlocked.Increment(ref begun);
            await mayEnd.Task;
            Interlocked.Increment(ref ended);
            return Payloads.OfSize(AnswerBytes);
        }
    }

    /// <summary>
    /// Leaves the thread pool three threads at most, however many it has grown to by other tests: few methods then
    /// begin at the same moment. One thread may be the test host's.
    /// </summary>
    private sealed class NarrowPool : IDisposable
    {
        public const int MostThreads = 3;

        private readonly ManualResetEventSlim _isOver = new();
        private readonly int _threads;
        private readonly int _ports;

        private NarrowPool()
        {
            ThreadPool.GetMaxThreads(out _threads, out _ports);
            Assert.That(ThreadPool.SetMaxThreads(Environment.ProcessorCount, _ports));
            using var held = new CountdownEvent(Math.Max(0, Environment.ProcessorCount - MostThreads));
            for (int i = held.InitialCount; i > 0; i--)
            {
                ThreadPool.UnsafeQueueUserWorkItem(
                    _ =>
                    {
                        held.Signal();
                        _isOver.Wait(Timeouts.Wait);
                    },
                    null);
            }

            Assert.That(held.Wait(Timeouts.Wait));
        }

        public static NarrowPool Enter() => new();

        public void Dispose()
        {
            _isOver.Set();
            ThreadPool.SetMaxThreads(_threads, _ports);
        }
    }
}
