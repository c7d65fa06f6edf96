using System.Collections.Concurrent;
using RpcOverShm.Diagnostics;

namespace RpcOverShm.FunctionalTests.Scheduling;

/// <summary>A system without threads at each place that starts one: nothing hangs, and what can goes on.</summary>
[NonParallelizable]
internal sealed class NoThreadTests() : RigFixture(RigKind.Shm)
{
    private const int ConnectionFailed = 104;
    private const string Loop = "RpcOverShm loop";
    private const string Door = "RpcOverShm door";

    private readonly ConcurrentQueue<string> _refused = new();

    [TearDown]
    public void LetThreadsStart() => BackgroundThread.Refuses = null;

    [Test]
    public async Task ServerWithoutADoor_DoesNotStart_AndCanBeStartedLater()
    {
        ShmRig rig = await StartWithoutServerAsync(new RigOptions());
        await EndOfLoopsAsync();
        Refuse(Door);
        ShmServer server = rig.MakeServer();

        ShmTransportException failure = Assert.ThrowsAsync<ShmTransportException>(() => server.StartAsync())!;
        LetThreadsStart();
        await rig.StartServerAsync(new Script().Build());

        Assert.That(failure.Message, Does.Contain("No thread could be started: raise the limit"));
        Assert.That(rig.Client.Unary(Payloads.Of("x")).Text(), Is.EqualTo("x"));
        Assert.That(_refused, Is.Not.Empty);
    }

    [Test]
    public async Task ConnectionWithoutALoop_FailsItsCall_AndTheNextOneConnectsAnew([Values] bool isBlocking)
    {
        await EndOfLoopsAsync();
        ShmRig rig = await StartShmAsync(new Script());
        rig.Log.Expect(ConnectionFailed);
        Refuse(Loop);

        RpcException failure = await FailureOf(isBlocking
            ? Timeouts.OnThread(() => rig.Client.Unary(Payloads.Of("x")))
            : rig.Client.UnaryAsync(Payloads.Of("x")).ResponseAsync);
        LetThreadsStart();
        Payload answer = await rig.Client
            .UnaryAsync(Payloads.Of("x"), new CallOptions().WithWaitForReady()).ResponseAsync.Bounded();

        Assert.That(failure.StatusCode, Is.EqualTo(StatusCode.Unavailable));
        Assert.That(answer.Text(), Is.EqualTo("x"));
        Assert.That(_refused, Is.Not.Empty);
    }

    [Test]
    public async Task BlockedMethodWithoutASpareThread_LosesItsLoopToThePool()
    {
        using var mayEnd = new ManualResetEventSlim();
        var script = new Script
        {
            Unary = (request, _) =>
            {
                if (request.Text() == "blocks")
                {
                    mayEnd.Wait(Timeouts.Wait);
                }

                return Task.FromResult(request);
            },
        };
        await EndOfLoopsAsync();
        ShmRig rig = await StartShmAsync(script, new RigOptions { Scheduling = ShmSchedulingMode.Adaptive });
        await rig.Client.UnaryAsync(Payloads.Of("first")).ResponseAsync.Bounded();
        Refuse(Loop);

        AsyncUnaryCall<Payload> blocked = rig.Client.UnaryAsync(Payloads.Of("blocks"));
        for (int i = 0; i < 100; i++)
        {
            Payload answer = await rig.Client.UnaryAsync(Payloads.Of($"{i}")).ResponseAsync.Bounded();
            Assert.That(answer.Text(), Is.EqualTo($"{i}"));
        }

        bool isStillBlocked = !blocked.ResponseAsync.IsCompleted;
        mayEnd.Set();
        await blocked.ResponseAsync.Bounded();

        Assert.That(isStillBlocked);
        Assert.That(_refused, Is.Not.Empty);
    }

    [Test]
    public async Task FullRing_NeedsNoThread()
    {
        const int Bytes = 3 << 20;
        ShmRig rig = await StartShmAsync(new Script(), new RigOptions { RingCapacity = 64 << 10 });
        await rig.Client.UnaryAsync(Payloads.Empty).ResponseAsync.Bounded();
        BackgroundThread.Refuses = static _ => true;

        Payload[] answers = await Task.WhenAll(Enumerable.Range(0, 8).Select(async _ =>
            await rig.Client.UnaryAsync(Payloads.OfSize(Bytes)))).Bounded();

        Assert.That(answers, Is.All.Matches<Payload>(answer => answer.IsOfSize(Bytes)));
    }

    // A loop that runs already needs no thread, and one that has been taken over has a spare.
    private static Task EndOfLoopsAsync() => Timeouts.Eventually(
        () => !ProcessResources.ThreadNames().Any(name => name is Loop or Door),
        "the event loops of earlier tests end");

    private void Refuse(string name) => BackgroundThread.Refuses = asked =>
    {
        if (asked != name)
        {
            return false;
        }

        _refused.Enqueue(asked);
        return true;
    };
}
