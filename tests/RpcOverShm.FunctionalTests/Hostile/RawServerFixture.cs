namespace RpcOverShm.FunctionalTests.Hostile;

/// <summary>The base of fixtures with a channel whose server the test plays. Fails a test that logs errors.</summary>
[FixtureLifeCycle(LifeCycle.InstancePerTestCase)]
internal abstract class RawServerFixture : IDisposable
{
    protected const int PeerViolation = 103;

    protected RawServerFixture(TimeSpan? connectTimeout = null)
    {
        Server = new RawServer(Directory.PlaceOf("raw"));
        var options = new ShmChannelOptions { Connect = { RuntimeDirectory = Directory.Option }, LoggerFactory = Log };
        options.Connect.Timeout = connectTimeout ?? options.Connect.Timeout;
        Channel = ShmChannel.ForAddress(Directory.AddressOf("raw"), options);
        Client = new ScriptClient(Channel.CreateCallInvoker());
    }

    protected TestDirectory Directory { get; } = new();

    protected LogGuard Log { get; } = new();

    protected RawServer Server { get; }

    protected ShmChannel Channel { get; }

    protected ScriptClient Client { get; }

    public virtual void Dispose()
    {
        Channel.Dispose();
        Server.Dispose();
        Directory.Dispose();
        Log.Dispose();
        Log.Check();
    }
}
