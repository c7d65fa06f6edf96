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

    // The watchdog needs two checks of the loop, a millisecond apart. It also checks the four ends of the connections.
    private const int MostChecks = 10;

    [Test]
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
        var waits = new List<(long Checks, TimeSpan Time)>();
        while (waits.Count < Attempts)
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
            long begun = Stopwatch.GetTimestamp();
            other.Unary(Payloads.Of("quick"));
            waits.Add((Watchdog.Checks - checks, Stopwatch.GetElapsedTime(begun)));
            Assert.That(held.IsCompleted, Is.False);
            mayGoOn.Set();
            await held.Bounded();
        }

        waits.Sort();
        TestContext.Out.WriteLine(string.Join(", ", waits.Select(wait => $"{wait.Checks} in {wait.Time}")));
        Assert.That(waits[Attempts / 2].Checks, Is.InRange(1, MostChecks));
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
