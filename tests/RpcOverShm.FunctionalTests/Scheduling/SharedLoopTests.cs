using System.Diagnostics;
using RpcOverShm.Scheduling;

namespace RpcOverShm.FunctionalTests.Scheduling;

/// <summary>Two clients of one event loop: what one of them does to the other.</summary>
[Category("Attack")]
[NonParallelizable]
internal sealed class SharedLoopTests() : RigFixture(RigKind.Shm)
{
    private const string Block = "block";
    private const string Busy = "busy";
    private const int Attempts = 21;

    // As in FrontDoorMeter: other programs may take both processors for a while.
    private const int MostRuns = 3;

    // The watchdog needs two checks of the loop, a millisecond apart. It also checks the four ends of the connections.
    private const int MostChecks = 10;

    [Test]
    [Long(
        "The thread that takes over must find a processor: beside the unit tests that takes it 20 checks.",
        "BlockingCodeTests.MethodThatBlocks_StallsNoOtherCall")]
    public async Task MethodThatKeepsTheLoop_StopsAnotherClientForAMomentOnly(
        [Values(Block, Busy)] string kind, [Values] bool isInline)
    {
        using var mayGoOn = new ManualResetEventSlim();
        using var hasBegun = new SemaphoreSlim(0);
        var script = new Script
        {
            Unary = (request, _) =>
            {
                if (request.Text() == kind)
                {
                    hasBegun.Release();
                    Keep(kind, mayGoOn);
                }

                return Task.FromResult(request);
            },
        };
        ShmRig rig = await StartShmAsync(
            script,
            new RigOptions { Scheduling = isInline ? ShmSchedulingMode.Inline : ShmSchedulingMode.Adaptive });
        await using ShmChannel otherChannel = rig.OpenChannel();
        var other = new ScriptClient(otherChannel.CreateCallInvoker());
        Assert.That(await MedianAsync(CountChecksAsync), Is.InRange(1, MostChecks));

        async Task<long> CountChecksAsync()
        {
            mayGoOn.Reset();
            for (int call = 0; call < 100; call++)
            {
                rig.Client.Unary(Payloads.Of("quick"));
                other.Unary(Payloads.Of("quick"));
            }

            Task held = rig.Client.UnaryAsync(Payloads.Of(kind)).ResponseAsync;
            Assert.That(hasBegun.Wait(Timeouts.Wait));
            long checks = Watchdog.Checks;
            other.Unary(Payloads.Of("quick"));
            checks = Watchdog.Checks - checks;
            Assert.That(held.IsCompleted, Is.False);
            mayGoOn.Set();
            await held.Bounded();
            return checks;
        }
    }

    private static async Task<long> MedianAsync(Func<Task<long>> countAsync)
    {
        long median = 0;
        for (int run = 0; run < MostRuns && median is 0 or > MostChecks; run++)
        {
            var counts = new List<long>();
            while (counts.Count < Attempts)
            {
                counts.Add(await countAsync());
            }

            counts.Sort();
            TestContext.Out.WriteLine(string.Join(", ", counts));
            median = counts[Attempts / 2];
        }

        return median;
    }

    private static void Keep(string kind, ManualResetEventSlim mayGoOn)
    {
        if (kind == Block)
        {
            mayGoOn.Wait(Timeouts.Wait);
            return;
        }

        long begun = Stopwatch.GetTimestamp();
        while (!mayGoOn.IsSet && Stopwatch.GetElapsedTime(begun) < Timeouts.Wait)
        {
            Thread.SpinWait(100); // SpinUntil would sleep.
        }
    }
}
