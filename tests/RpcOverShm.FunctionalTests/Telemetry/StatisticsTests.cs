using RpcOverShm.Links;
using RpcOverShm.Protocol;
using RpcOverShm.Systems;

namespace RpcOverShm.FunctionalTests.Telemetry;

/// <summary>The figures of a server's connections, as a program reads them while calls run, wait and end.</summary>
[FixtureLifeCycle(LifeCycle.InstancePerTestCase)]
internal sealed class StatisticsTests
{
    private const int Running = 2;

    private readonly TestDirectory _directory = new();
    private readonly TaskCompletionSource _released = new(TaskCreationOptions.RunContinuationsAsynchronously);
    private ShmServer _server = null!;

    private string Address => _directory.PathAddressOf("s");

    [SetUp]
    public async Task StartAsync()
    {
        _server = new ShmServer(
            Address, new ShmServerOptions { Limits = { MaxConcurrentCallsPerConnection = Running } });
        var script = new Script
        {
            Unary = async (request, _) =>
            {
                if (request.Text() == "hold")
                {
                    await _released.Task;
                }

                return request;
            },
        };
        _server.Services.Add(script.Build());
        await _server.StartAsync();
    }

    [TearDown]
    public async Task StopAsync()
    {
        await _server.DisposeAsync();
        _directory.Dispose();
    }

    [Test]
    public async Task Statistics_OfCallsThatRunAndWait_CountThem()
    {
        using ShmChannel channel = ShmChannel.ForAddress(Address);
        using ShmChannel other = ShmChannel.ForAddress(Address);
        await channel.ConnectAsync().Bounded();
        await other.ConnectAsync().Bounded();
        using StatisticsReader reader = await OpenAsync();
        var client = new ScriptClient(channel.CreateCallInvoker());
        Task[] calls = [.. Enumerable.Range(0, 5).Select(_ => client.UnaryAsync(Payloads.Of("hold")).ResponseAsync)];

        await Timeouts.Eventually(() => reader.Read().Rows[0].Figures is { InFlight: 5, Queued: 5 - Running });
        StatisticsPage page = reader.Read();
        _released.SetResult();
        await Task.WhenAll(calls).Bounded();

        Assert.That(page.Connections, Is.EqualTo(2));
        Assert.That(page.Rows.Select(row => row.Figures.Session), Is.EqualTo(new[] { 1, 2 }));
        Assert.That(page.Rows.Select(row => row.Figures.Calls), Is.EqualTo(new[] { 5, 0 }));
        Assert.That(page.Rows.Select(row => row.Figures.ProcessId), Is.All.EqualTo(Environment.ProcessId));
        Assert.That(page.Rows[0].Figures.KeptBytes, Is.Positive);
        Assert.That(page.Rows[0].Figures.ServerRing, Is.EqualTo(new ShmRingOptions().Capacity));
        await Timeouts.Eventually(
            () => reader.Read().Rows[0].Figures is { InFlight: 0, Queued: 0, KeptBytes: 0, UnreadByClient: 0 });
        other.Dispose();
        await Timeouts.Eventually(() => reader.Read().Connections == 1);
    }

    // One call in 64; the number of a fair sample of 6,400 lies far within these bounds.
    [Test]
    public async Task Latencies_OfManyCalls_AreThoseOfOneInSixtyFour()
    {
        using ShmChannel channel = ShmChannel.ForAddress(Address);
        var client = new ScriptClient(channel.CreateCallInvoker());
        await MakeAsync(client, 640);
        using StatisticsReader reader = await OpenAsync();
        Assert.That(reader.Read().Rows[0].Latencies.Sum(), Is.Zero, "Nobody has read before.");

        await MakeAsync(client, 6400);

        await Timeouts.Eventually(() => reader.Read().Rows[0].Figures.Calls == 7040);
        Assert.That(reader.Read().Rows[0].Latencies.Sum(), Is.InRange(50, 200));
    }

    [Test]
    public async Task Statistics_AfterTheLastReader_MeasureNothingMore()
    {
        using ShmChannel channel = ShmChannel.ForAddress(Address);
        await channel.ConnectAsync().Bounded();
        StatisticsReader reader = await OpenAsync();
        Assert.That(_server.Running!.Connections.Single().Latencies, Is.Not.Null);

        reader.Dispose();

        await Timeouts.Eventually(() => _server.Running!.Connections.Single().Latencies is null);
    }

    [Test]
    public async Task Stop_WhileSomebodyReads_EndsTheReader()
    {
        using StatisticsReader reader = await OpenAsync();

        await _server.StopAsync(TimeSpan.Zero).Bounded();

        Assert.That(reader.HasEnded);
        Assert.That(reader.Read().Connections, Is.Zero);
    }

    private static async Task MakeAsync(ScriptClient client, int count)
    {
        for (int i = 0; i < count; i++)
        {
            await client.UnaryAsync(Payloads.Of("ok"));
        }
    }

    private Task<StatisticsReader> OpenAsync() => ClientHandshake.OpenStatisticsAsync(
        RendezvousAddress.Parse(Address, null), Timeouts.Wait, CancellationToken.None).Bounded();
}
