using System.Diagnostics;

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

    // The watchdog needs two checks, a millisecond apart. Twice that, for other programs of the machine.
    private static readonly TimeSpan s_most = TimeSpan.FromMilliseconds(4);

    [Test]
    [Long("It measures milliseconds.", "BlockingCodeTests.MethodThatBlocks_StallsNoOtherCall")]
    public async Task MethodThatKeepsTheLoop_StopsAnotherClientForAMomentOnly(
        [Values(Block, Busy)] string kind, [Values] bool isInline)
    {
        using var mayGoOn = new ManualResetEventSlim();
        using var hasBegun = new SemaphoreSlim(0);
        bool isOver = false;
        var script = new Script
        {
            Unary = (request, _) =>
            {
                if (request.Text() == Block)
                {
                    hasBegun.Release();
                    mayGoOn.Wait(Timeouts.Wait);
                }
                else if (request.Text() == Busy)
                {
                    hasBegun.Release();
                    long begun = Stopwatch.GetTimestamp();
                    while (!Volatile.Read(ref isOver) && Stopwatch.GetElapsedTime(begun) < Timeouts.Wait)
                    {
                        Thread.SpinWait(100); // SpinUntil would sleep.
                    }
                }

                return Task.FromResult(request);
            },
        };
        ShmRig rig = await StartShmAsync(
            script,
            new RigOptions { Scheduling = isInline ? ShmSchedulingMode.Inline : ShmSchedulingMode.Adaptive });
        await using ShmChannel otherChannel = rig.OpenChannel();
        var other = new ScriptClient(otherChannel.CreateCallInvoker());
        Assert.That(await MedianAsync(WaitAsync), Is.LessThan(s_most));

        async Task<TimeSpan> WaitAsync()
        {
            mayGoOn.Reset();
            Volatile.Write(ref isOver, false);
            for (int call = 0; call < 100; call++)
            {
                rig.Client.Unary(Payloads.Of("quick"));
                other.Unary(Payloads.Of("quick"));
            }

            Task held = rig.Client.UnaryAsync(Payloads.Of(kind)).ResponseAsync;
            Assert.That(hasBegun.Wait(Timeouts.Wait));
            long begun = Stopwatch.GetTimestamp();
            other.Unary(Payloads.Of("quick"));
            TimeSpan wait = Stopwatch.GetElapsedTime(begun);
            Assert.That(held.IsCompleted, Is.False);
            mayGoOn.Set();
            Volatile.Write(ref isOver, true);
            await held.Bounded();
            return wait;
        }
    }

    private static async Task<TimeSpan> MedianAsync(Func<Task<TimeSpan>> waitAsync)
    {
        var waits = new List<TimeSpan>();
        int runs = 0;
        do
        {
            waits.Clear();
            for (int i = 0; i < Attempts; i++)
            {
                waits.Add(await waitAsync());
            }

            waits.Sort();
            TestContext.Out.WriteLine($"median {waits[Attempts / 2].TotalMicroseconds} µs, longest {waits[^1]}");
        }
        while (++runs < MostRuns && waits[Attempts / 2] >= s_most);

        return waits[Attempts / 2];
    }
}
