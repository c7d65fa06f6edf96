using RpcOverShm.Systems;

namespace RpcOverShm.FunctionalTests.Hostile;

/// <summary>Proves that closes hang in this process, which is the server's, while an attack is measured.</summary>
internal static class HangingCloses
{
    // An attempt fails if its own close comes last, or if the server has refused it before it could send.
    private const int MostAttempts = 8 * ForeignHandles.MaxThreads;

    private static readonly TimeSpan s_mostForAttempt = TimeSpan.FromSeconds(0.2);

    /// <summary>Makes closes hang one after the other, until all threads for them hang.</summary>
    public static async Task MakeAsync(Func<Task> attemptAsync)
    {
        for (int i = 0; i < MostAttempts && ForeignHandles.Shared.Closing < ForeignHandles.MaxThreads; i++)
        {
            int before = ForeignHandles.Shared.Closing;
            await attemptAsync();
            try
            {
                await Timeouts.Eventually(() => ForeignHandles.Shared.Closing > before, s_mostForAttempt);
            }
            catch (TimeoutException)
            {
                // The next attempt may be luckier; AssertAsync tells whether enough were.
            }
        }
    }

    /// <summary>Asserts that closes hang. Call it once the newcomers have gone: theirs do not hang.</summary>
    public static async Task AssertAsync()
    {
        await Timeouts.Eventually(
            () => ForeignHandles.Shared.Waiting == 0 || ForeignHandles.Shared.Closing == ForeignHandles.MaxThreads);
        int hanging = ForeignHandles.Shared.Closing;
        TestContext.Out.WriteLine($"{hanging} threads hang, {ForeignHandles.Shared.Waiting} handles wait.");
        Assert.That(hanging, Is.GreaterThan(ForeignHandles.MaxThreads / 2), "threads hang in a close");
    }

    /// <summary>Waits until no close hangs any more.</summary>
    public static Task NoneAsync() =>
        Timeouts.Eventually(() => ForeignHandles.Shared is { Closing: 0, Waiting: 0 }, "no close hangs");
}
