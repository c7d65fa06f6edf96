using RpcOverShm.Buffers;
using RpcOverShm.Servers;

namespace RpcOverShm.FunctionalTests.RandomEnds;

/// <summary>
/// After calls that were cancelled, disposed of, timed out and failed by their handlers at random moments, nothing of
/// them is left.
/// </summary>
internal sealed class RandomEndIdleTests
{
    private const int MethodThrew = 301;

    // A few arrays in a thousand go to the collector: what threads that have ended kept for their next call, and
    // messages that were cut off half-way: two to four were seen. A path that forgets its buffers loses many more.
    private const int RentedForEachLost = 100;

    private static readonly RigOptions s_retrying = new()
    {
        Retries = new RigRetries(3, StatusCode.Aborted, StatusCode.Unknown) { Backoff = TimeSpan.FromMilliseconds(1) },
    };

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

            // Behind this one the server has read the start of every call, of those too that were given up at once.
            ConnectWith(rig);

            ServerConnection served = rig.Served.Single();
            await Timeouts.Eventually(() => served.Connection.IncomingCount == 0, "no call is left");
            await Timeouts.Eventually(() => served.Running.Count == 0, "no handler is left");
            Assert.That(handlers.Ended, Is.EqualTo(handlers.Began));

            // Half of the calls had a deadline in an hour: a timer that is left would hold its call.
            await Timeouts.Eventually(() => notes.Calls.CountAlive() == 0, "nothing holds a call of the client");
            await Timeouts.Eventually(() => handlers.Contexts.CountAlive() == 0, "nothing holds a call of the server");
            await Timeouts.Eventually(
                () => pool.Outstanding <= pool.RentedCount / RentedForEachLost,
                $"buffers are given back; {pool.RentedCount} rented, {pool.Outstanding} not given back");
            Assert.That(pool.RentedCount, Is.GreaterThan(RandomLoad.Calls), "the pool was watched");

            // What tests before this one left may be collected only now: fewer is right.
            await Timeouts.Eventually(() => ReceiveReservation.Outstanding == 0, "no promise is left");
            ProcessFacts most = connected with { Threads = int.MaxValue };
            await Timeouts.Eventually(() => ProcessFacts.OfSelf().IsNoMoreThan(most), "no descriptor is left");
            Assert.That(served.Connection.LostWakeups, Is.Zero);
        }

        await Timeouts.Eventually(() => ProcessFacts.OfSelf().IsNoMoreThan(before));
    }

    // What a connection keeps for as long as it lives is there from the first call on.
    private static void ConnectWith(ShmRig rig) =>
        rig.Client.Unary(Payloads.Empty, new CallOptions(CallPlan.SuccessHeaders));
}
