using RpcOverShm.Buffers;
using RpcOverShm.Servers;

namespace RpcOverShm.FunctionalTests.RandomEnds;

/// <summary>Resources left after calls that were cancelled, disposed, timed out and failed at random moments.</summary>
internal sealed class RandomEndIdleTests
{
    private const int MethodThrew = 301;

    // A few arrays in a thousand, two to four as measured, go to the garbage collector: buffers cached by threads that
    // have ended, and messages cut off half-way. A path that forgets its buffers loses many more.
    private const int RentedForEachLost = 100;

    private static readonly RigOptions s_retrying = new()
    {
        Retries = new RigRetries(3, StatusCode.Aborted, StatusCode.Unknown) { Backoff = TimeSpan.FromMilliseconds(1) },
    };

    // On Windows an assembly that is loaded keeps a section, as a segment does.
    [OneTimeSetUp]
    public async Task LoadAssembliesAsync()
    {
        if (OperatingSystem.IsWindows())
        {
            await using ShmRig rig = await ShmRig.StartAsync(s_retrying, new PlannedHandlers().Script.Build());
            rig.Log.Expect(MethodThrew);
            RandomLoad.Run(rig.Client);
        }
    }

    [Test]
    public async Task Server_AfterCallsEndedAtRandom_IsIdle([Values] bool isRetried)
    {
        ProcessFacts before = ProcessFacts.OfSelf();
        var handlers = new PlannedHandlers();
        await using (ShmRig rig = await ShmRig.StartAsync(isRetried ? s_retrying : null, handlers.Script.Build()))
        {
            rig.Log.Expect(MethodThrew);
            ConnectWith(rig);
            ProcessFacts connected = ProcessFacts.OfSelf();
            using var pool = new PoolWatch();

            CallNotes notes = RandomLoad.Run(rig.Client);
            Assert.That(notes.Problems, Is.Empty);
            Assert.That(notes.Statuses, Has.Count.EqualTo(RandomLoad.Calls));
            Assert.That(handlers.Began, Is.Positive);
            Assert.That(handlers.BeganAgain, isRetried ? Is.Positive : Is.Zero);

            // After this call the server has read the start of every call, including those cancelled at once.
            ConnectWith(rig);

            ServerConnection served = rig.Served.Single();
            await Timeouts.Eventually(() => served.Connection.IncomingCount == 0, "no call is left");
            await Timeouts.Eventually(() => served.PendingOrRunning == 0, "no handler is left");
            Assert.That(handlers.Ended, Is.EqualTo(handlers.Began));

            // Half of the calls had a deadline in an hour: a leaked timer would hold its call.
            await Timeouts.Eventually(() => notes.Calls.CountAlive() == 0, "nothing holds a call of the client");
            await Timeouts.Eventually(() => handlers.Contexts.CountAlive() == 0, "nothing holds a call of the server");
            await Timeouts.Eventually(
                () => pool.Outstanding <= pool.RentedCount / RentedForEachLost,
                $"buffers are given back; {pool.RentedCount} rented, {pool.Outstanding} not given back");
            Assert.That(pool.RentedCount, Is.GreaterThan(RandomLoad.Calls), "the pool was watched");

            // Garbage of earlier tests may be collected only now, so fewer resources are right too.
            await Timeouts.Eventually(() => ReceiveReservation.Outstanding == 0, "no promise is left");
            ProcessFacts most = connected with { Threads = int.MaxValue };
            await Timeouts.Eventually(() => ProcessFacts.OfSelf().IsNoMoreThan(most), "no descriptor is left");
            Assert.That(served.Connection.LostWakeups, Is.Zero);
        }

        await Timeouts.Eventually(() => ProcessFacts.OfSelf().IsNoMoreThan(before), $"no more is left than {before}");
    }

    // A connection allocates its permanent resources at the first call.
    private static void ConnectWith(ShmRig rig) =>
        rig.Client.Unary(Payloads.Empty, new CallOptions(CallPlan.SuccessHeaders));
}
