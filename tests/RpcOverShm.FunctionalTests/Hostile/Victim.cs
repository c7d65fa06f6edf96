namespace RpcOverShm.FunctionalTests.Hostile;

/// <summary>A server with an innocent client, whose long-lived call must not be affected by the hostile one.</summary>
internal sealed class Victim
{
    private readonly AsyncDuplexStreamingCall<Payload, Payload> _innocent;
    private int _pings;

    private Victim(ShmRig rig)
    {
        Rig = rig;
        _innocent = rig.Client.Duplex();
    }

    public ShmRig Rig { get; }

    public string Place => Rig.Place;

    public static async Task<Victim> WithInnocentClientAsync(ShmRig rig)
    {
        var victim = new Victim(rig);
        await victim.PingAsync();
        return victim;
    }

    /// <summary>Asserts that the innocent client's call goes on, and that it and a new client can make calls.</summary>
    public async Task AssertUnharmedAsync()
    {
        await PingAsync();
        Assert.That(await Shapes.RunAllAsync(Rig.Client).Bounded(), Is.Empty);
        await using ShmChannel newcomer = Rig.OpenChannel();
        var client = new ScriptClient(newcomer.CreateCallInvoker());
        Assert.That((await client.UnaryAsync(Payloads.Of("new")).ResponseAsync.Bounded()).Text(), Is.EqualTo("new"));
    }

    /// <summary>Asserts the same, and that only the innocent client's connection is left.</summary>
    public async Task AssertUnharmedAndRidOfAsync()
    {
        await AssertUnharmedAsync();
        await Timeouts.Eventually(() => Rig.Served.Count == 1, "only the innocent client's connection is left");
    }

    private async Task PingAsync()
    {
        int number = ++_pings;
        await _innocent.RequestStream.WriteAsync(Payloads.OfSize(number)).Bounded();
        Assert.That(await _innocent.ResponseStream.MoveNext(CancellationToken.None).Bounded());
        Assert.That(_innocent.ResponseStream.Current.IsOfSize(number));
    }
}
