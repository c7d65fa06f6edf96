namespace RpcOverShm.Soak;

/// <summary>
/// Random calls of many processes while a supervisor kills, stops, restarts and starves them. Runs for 60 s; the
/// variables of <see cref="SoakSettings"/> set the length and repeat a seed.
/// </summary>
[Category("Soak")]
[NonParallelizable]
internal sealed class SoakTests
{
    // A run that makes no progress for this time hangs; each fault renews it.
    private static readonly TimeSpan s_hang = TimeSpan.FromMinutes(5);

    [Test]
    public async Task Calls_OfManyProcessesUnderFaults_AreAnsweredOnceOrFail()
    {
        var settings = SoakSettings.FromEnvironment();
        TestContext.Progress.WriteLine(
            $"Seed {settings.Seed}; set {SoakSettings.SeedVariable} to it to repeat the faults and the calls.");
        HangWatchdog.Begin(nameof(SoakTests), s_hang);
        await using var run = new SoakRun(settings);
        string report;
        try
        {
            await run.RunAsync();
        }
        finally
        {
            report = run.Report();
            TestContext.Out.WriteLine(report);
            HangWatchdog.End(nameof(SoakTests));
        }

        Assert.That(run.Findings.Count, Is.Zero, report);
    }
}
