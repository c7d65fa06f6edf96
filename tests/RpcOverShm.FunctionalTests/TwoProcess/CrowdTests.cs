namespace RpcOverShm.FunctionalTests.TwoProcess;

/// <summary>
/// The watchdog with many connections, by counting: how often it checks, and that it takes no role over from methods
/// that are slower than a call and faster than its period.
/// </summary>
[OneMode]
internal sealed class CrowdTests : PeerFixture
{
    private const int Connections = 100;
    private const int MostRuns = 5;
    private const int MostByTheHost = 30;
    private const string TieredCompilation = "DOTNET_TieredCompilation";

    // Callers of a method that the runtime compiles anew wait for the runtime's lock, as if the method blocked. So the
    // peer compiles each method once.
    [SetUp]
    public void CompileOnce() => Environment.SetEnvironmentVariable(TieredCompilation, "0");

    [TearDown]
    public void CompileInTiers() => Environment.SetEnvironmentVariable(TieredCompilation, null);

    // The host of a virtual machine may take the processor away and so make a method long. Without the watchdog's
    // period every eighth of the 3,000 calls would lose the role in each run.
    [TestCase(20)]
    [TestCase(200)]
    [TestCase(450)]
    [LinuxOnly("The time of a thread in microseconds; other systems tell it in steps of 10 ms or more.")]
    [Long("A hundred connections make 3,000 calls in a process that compiles without tiers.", "EventLoopTakeOverTests")]
    public async Task QuickMethods_OnAHundredConnections_LoseNoRole(int microseconds)
    {
        PeerProcess peer = await StartPeerAsync();
        long takeOvers = 1;
        for (int run = 0; run < MostRuns && takeOvers > 0; run++)
        {
            string counts = await peer.DoAsync($"crowd {Directory.Word} {Connections} {microseconds}");

            TestContext.Out.WriteLine($"take-overs, checks, milliseconds: {counts}");
            long[] numbers = [.. counts.Split(' ').Select(long.Parse)];
            takeOvers = numbers[0];
            Assert.That(takeOvers, Is.LessThan(MostByTheHost));

            // Both ends of each connection are in the peer, and each may be checked once a millisecond.
            Assert.That(numbers[1], Is.LessThan(2 * Connections * numbers[2]));
        }

        Assert.That(takeOvers, Is.Zero, "in one of the runs at least");
    }

    // In a process of its own, because a process has one watchdog.
    [Test]
    public async Task CallsWithoutAWatchdog_AreAnswered_AndItIsAskedForAgain()
    {
        PeerProcess peer = await StartPeerAsync();

        Assert.That(await peer.DoAsync($"watchless {Directory.Word}"), Is.EqualTo("right"));
    }
}
