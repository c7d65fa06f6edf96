using System.Diagnostics.Metrics;
using RpcOverShm.Diagnostics;
using RpcOverShm.FunctionalTests.Hostile;
using RpcOverShm.Links;
using RpcOverShm.Protocol;
using RpcOverShm.Systems;

namespace RpcOverShm.FunctionalTests.Limits;

/// <summary>The limits on connections: below, at and above each; what a client learns; their checks.</summary>
[FixtureLifeCycle(LifeCycle.InstancePerTestCase)]
[OneMode]
internal sealed class ConnectionLimitTests
{
    private const int LimitReached = 109;

    private readonly TestDirectory _directory = new();
    private readonly LogGuard _log = new();
    private readonly List<IAsyncDisposable> _owned = [];

    public static IEnumerable<TestCaseData> Options =>
    [
        new TestCaseData(
            new ShmServerOptions { Listen = { MaxConnections = 2, MaxConnectionsPerProcess = 2 } },
            "there are 2 connections (MaxConnections = 2)") { TestName = "MaxConnections" },
        new TestCaseData(
            new ShmServerOptions { Listen = { MaxConnectionsPerProcess = 2 } },
            $"process {Environment.ProcessId} has 2 connections (MaxConnectionsPerProcess = 2). Use one channel for "
                + "each server, and dispose channels and streams that are not needed.")
        {
            TestName = "MaxConnectionsPerProcess",
        },
        new TestCaseData(
            new ShmServerOptions { Listen = { MaxConnections = 4 } },
            $"process {Environment.ProcessId} has 2 connections (MaxConnectionsPerProcess = 2)")
        {
            TestName = "MaxConnectionsPerProcess, half of MaxConnections",
        },
    ];

    private string Address => _directory.AddressOf("limited");

    [TearDown]
    public async Task EndAsync()
    {
        _owned.Reverse();
        foreach (IAsyncDisposable owned in _owned)
        {
            await owned.DisposeAsync();
        }

        _owned.Clear();
        _directory.Dispose();
        _log.Dispose();
        _log.Check();
    }

    [TestCaseSource(nameof(Options))]
    public async Task Connections_AboveALimit_AreRefusedUntilOneEnds(ShmServerOptions options, string facts)
    {
        await StartAsync(options);
        ShmChannel first = OpenChannel();
        await CallAsync(first);
        await CallAsync(OpenChannel());
        ShmChannel third = OpenChannel();

        RpcException failure = Assert.ThrowsAsync<RpcException>(() => CallAsync(third))!;

        Assert.That(failure.StatusCode, Is.EqualTo(StatusCode.Unavailable));
        Assert.That(failure.Status.Detail, Does.Contain("takes no more clients").And.Contain(facts));
        var cause = failure.Status.DebugException as ShmTransportException;
        Assert.That(cause?.Error, Is.EqualTo(ShmTransportError.Refused));
        LogEntry entry = await _log.WaitForAsync(LimitReached);
        Assert.That(entry.Message, Does.Contain("is reached: A client was refused"));

        await first.DisposeAsync();
        await new ScriptClient(third.CreateCallInvoker())
            .UnaryAsync(Payloads.Empty, new CallOptions().WithWaitForReady()).ResponseAsync.Bounded();
    }

    [TestCase("MaxConnections")]
    [TestCase("MaxConnectionsPerProcess")]
    public async Task StreamAboveALimit_IsCountedAndLogged(string option)
    {
        using var log = new LogGuard();
        var options = new ShmStreamOptions { Connect = { RuntimeDirectory = _directory.Option } };
        await using var listener = new ShmStreamListener(Address, new ShmStreamListenerOptions
        {
            Listen =
            {
                RuntimeDirectory = _directory.Option,
                MaxConnections = option == "MaxConnections" ? 1 : 10,
                MaxConnectionsPerProcess = 1,
            },
            LoggerFactory = log,
        });
        listener.Start();
        await using ShmStream first = await ShmStream.ConnectAsync(Address, options);
        await CallRig.WhenLoggedAsync();
        Assert.That(log.Of(LimitReached), Is.Empty);
        long before = LimitEvents.CountOf(option);

        Assert.ThrowsAsync<ShmTransportException>(() => ShmStream.ConnectAsync(Address, options));

        Assert.That((await log.WaitForAsync(LimitReached)).Message, Does.StartWith($"{option} = 1 is reached"));
        Assert.That(LimitEvents.CountOf(option), Is.GreaterThan(before));
    }

    [Test]
    public async Task Streams_AboveALimit_AreRefusedUntilOneEnds()
    {
        var options = new ShmStreamOptions { Connect = { RuntimeDirectory = _directory.Option } };
        var listener = new ShmStreamListener(Address, new ShmStreamListenerOptions
        {
            Listen = { RuntimeDirectory = _directory.Option, MaxConnections = 2, MaxConnectionsPerProcess = 2 },
        });
        _owned.Add(listener);
        listener.Start();
        await using ShmStream accepted = await ShmStream.ConnectAsync(Address, options);
        ShmStream served = await listener.AcceptAsync().Bounded();
        await using ShmStream waiting = await ShmStream.ConnectAsync(Address, options);

        ShmTransportException failure = Assert.ThrowsAsync<ShmTransportException>(
            () => ShmStream.ConnectAsync(Address, options))!;

        Assert.That(failure.Error, Is.EqualTo(ShmTransportError.Refused));
        Assert.That(failure.Message, Does.Contain("MaxConnections = 2"));
        await served.DisposeAsync();
        await Timeouts.Eventually(() =>
        {
            try
            {
                _owned.Add(ShmStream.ConnectAsync(Address, options).GetAwaiter().GetResult());
                return true;
            }
            catch (ShmTransportException)
            {
                return false;
            }
        });
    }

    [Test]
    public async Task SilentClients_AboveMaxPendingHandshakes_LoseTheOldestOfThem()
    {
        await StartAsync(new ShmServerOptions
        {
            Listen = { MaxPendingHandshakes = 2, HandshakeTimeout = Timeouts.Wait },
        });
        using Wire first = await ConnectAsync();
        using Wire second = await ConnectAsync();
        Assert.That(_log.Of(LimitReached), Is.Empty);
        using Wire third = await ConnectAsync();

        using Handshake.ReceivedHello? refusal = await Handshake.ReceiveAsync(first, CancellationToken.None).Bounded();
        LogEntry entry = await _log.WaitForAsync(LimitReached);

        Assert.That(refusal!.Hello.RefusalReason, Is.EqualTo(RefusalReason.Full));
        Assert.That(refusal.Hello.RefusalText, Does.EndWith("needed its place (MaxPendingHandshakes = 2)."));
        Assert.That(entry.Message, Does.StartWith("MaxPendingHandshakes = 2 is reached: "));
        await CallAsync(OpenChannel());
    }

    [Test]
    public async Task Limit_ThatRefuses_IsCounted()
    {
        long reached = 0;
        using var meter = new MeterListener();
        meter.InstrumentPublished = (instrument, self) =>
        {
            if (instrument.Name == TelemetryNames.LimitReached)
            {
                self.EnableMeasurementEvents(instrument);
            }
        };
        meter.SetMeasurementEventCallback<long>((_, count, tags, _) =>
        {
            if (tags.Contains(new KeyValuePair<string, object?>("option", "MaxConnections")))
            {
                Interlocked.Exchange(ref reached, count);
            }
        });
        meter.Start();
        await StartAsync(new ShmServerOptions { Listen = { MaxConnections = 1 } });
        await CallAsync(OpenChannel());
        meter.RecordObservableInstruments();
        long before = Interlocked.Exchange(ref reached, 0);

        Assert.ThrowsAsync<RpcException>(() => CallAsync(OpenChannel()));

        meter.RecordObservableInstruments();
        Assert.That(Interlocked.Read(ref reached), Is.GreaterThan(before));
    }

    private static Task<Payload> CallAsync(ShmChannel channel) =>
        new ScriptClient(channel.CreateCallInvoker()).UnaryAsync(Payloads.Empty).ResponseAsync.Bounded();

    private async Task StartAsync(ShmServerOptions options)
    {
        options.Listen.RuntimeDirectory = _directory.Option;
        options.LoggerFactory = _log;
        var server = new ShmServer(Address, options);
        _owned.Add(server);
        server.Services.Add(new Script().Build());
        await server.StartAsync();
    }

    private Task<Wire> ConnectAsync() => RawPeer.ConnectWireAsync(_directory.PlaceOf("limited"));

    private ShmChannel OpenChannel()
    {
        var channel = ShmChannel.ForAddress(
            Address, new ShmChannelOptions { Connect = { RuntimeDirectory = _directory.Option } });
        _owned.Add(channel);
        return channel;
    }
}
