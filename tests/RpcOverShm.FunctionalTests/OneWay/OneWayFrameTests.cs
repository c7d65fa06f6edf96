using RpcOverShm.FunctionalTests.Hostile;
using RpcOverShm.Protocol;
using static RpcOverShm.FunctionalTests.Hostile.RawFrames;

namespace RpcOverShm.FunctionalTests.OneWay;

/// <summary>The frames of one-way calls, at a server that the test plays.</summary>
[FixtureLifeCycle(LifeCycle.InstancePerTestCase)]
internal sealed class OneWayFrameTests : IDisposable
{
    private const int PeerViolation = 103;
    private const FrameFlags Whole = FrameFlags.OneWay | FrameFlags.HasMessage | FrameFlags.HalfClose;

    // The window of a server that takes few bytes.
    private static readonly PeerLimits s_small = RawPeer.Generous with { CallWindow = 64 << 10 };

    private readonly TestDirectory _directory = new();
    private readonly LogGuard _log = new();
    private readonly RawServer _server;
    private readonly ShmChannel _channel;
    private readonly ScriptClient _client;

    public OneWayFrameTests()
    {
        _server = new RawServer(_directory.Combine("raw.sock"));
        _channel = ShmChannel.ForAddress("shm://raw", new ShmChannelOptions
        {
            Connect = { RuntimeDirectory = _directory.Path },
            LoggerFactory = _log,
        });
        _client = new ScriptClient(_channel.CreateOneWayInvoker());
    }

    public void Dispose()
    {
        _channel.Dispose();
        _server.Dispose();
        _directory.Dispose();
        _log.Dispose();
        _log.Check();
    }

    [Test]
    public async Task SmallCall_IsOneRecord_AndItsIdIsFreeAtOnce()
    {
        Task<RawPeer> accepting = _server.AcceptAsync();
        await _client.UnaryAsync(Payloads.Of("a")).ResponseAsync.Bounded();
        await Timeouts.OnThread(() => _client.Unary(Payloads.Of("b"))).Bounded();
        using RawPeer server = await accepting.Bounded();

        RawFrame first = await server.ReceiveAsync();
        RawFrame second = await server.ReceiveAsync();

        Assert.That((first.Kind, first.Flags, first.Argument), Is.EqualTo((FrameKind.CallStart, Whole, 0)));
        Assert.That((first.Head, first.Read().Text()), Is.EqualTo((UnaryHead, "a")));
        Assert.That((second.Kind, second.Flags, second.Read().Text()), Is.EqualTo((FrameKind.CallStart, Whole, "b")));
        Assert.That((first.Call, second.Call), Is.EqualTo((new CallId(0, 1, false), new CallId(0, 2, false))));
    }

    [Test]
    public async Task LargeCall_EndsWithItsHalfClose_AndItsIdIsFree()
    {
        Task<RawPeer> accepting = _server.AcceptAsync();
        Task sending = _client.UnaryAsync(Payloads.OfSize(100_000)).ResponseAsync;
        using RawPeer server = await accepting.Bounded();
        RawFrame start = await server.ReceiveAsync();
        RawFrame frame = start;
        while ((frame.Flags & FrameFlags.HalfClose) == 0)
        {
            frame = await server.ReceiveAsync();
        }

        await sending.Bounded();
        await _client.UnaryAsync(Payloads.Of("next")).ResponseAsync.Bounded();
        RawFrame next = await server.ReceiveAsync();

        Assert.That((start.Kind, start.Flags), Is.EqualTo((FrameKind.CallStart, FrameFlags.OneWay)));
        Assert.That((frame.Call, next.Call), Is.EqualTo((start.Call, new CallId(0, 2, false))));
    }

    [TestCase(FrameKind.End)]
    [TestCase(FrameKind.Headers)]
    [TestCase(FrameKind.Credit)]
    public async Task Answer_ToAOneWayCall_IsAViolation(FrameKind kind)
    {
        _log.Expect(PeerViolation);
        Task<RawPeer> accepting = _server.AcceptAsync();
        await _client.UnaryAsync(Payloads.Of("a")).ResponseAsync.Bounded();
        using RawPeer server = await accepting.Bounded();
        RawFrame call = await server.ReceiveAsync();

        server.Send(kind, call.Call, 0, kind == FrameKind.Headers ? [0, 0] : []);

        Assert.That(await server.ClosedAsync(), Does.Contain("which is not open"));
    }

    [Test]
    public async Task ServerWithoutCredit_MakesCallsWaitUntilTheirDeadline_AndGivesItInBytes()
    {
        Task<RawPeer> accepting = _server.AcceptAsync(s_small);
        Task first = _client.UnaryAsync(Payloads.OfSize(100_000)).ResponseAsync;
        using RawPeer server = await accepting.Bounded();
        uint cost = 1 << 10;
        RawFrame frame;
        do
        {
            frame = await server.ReceiveAsync();
            cost += (uint)(frame.Head.Length + frame.Body.Length);
        }
        while ((frame.Flags & FrameFlags.HalfClose) == 0);

        await first.Bounded();
        Task tooLate = _client.UnaryAsync(
            Payloads.Of("late"), new CallOptions(deadline: DateTime.UtcNow.AddMilliseconds(100))).ResponseAsync;
        Task waiting = _client.UnaryAsync(Payloads.Of("waits")).ResponseAsync;
        RpcException failure = await CallFailure.OfAsync(tooLate);
        bool isWaiting = !waiting.IsCompleted;
        server.Send(FrameKind.Credit, argument: cost - (64 << 10)); // None is left.
        server.Send(FrameKind.Credit, argument: 1);
        await waiting.Bounded();
        frame = await server.ReceiveAsync();

        Assert.That(failure.StatusCode, Is.EqualTo(StatusCode.DeadlineExceeded));
        Assert.That(isWaiting, Is.True);
        Assert.That(frame.Read().Text(), Is.EqualTo("waits"));
    }

    [Test]
    public async Task CallCancelledHalfWay_SendsACancel_AndTheCreditOfItsRestIsKept()
    {
        using var cancel = new CancellationTokenSource();
        Task<RawPeer> accepting = _server.AcceptAsync();
        Task sending = _client.UnaryAsync(
            Payloads.OfSize(3_000_000), new CallOptions(cancellationToken: cancel.Token)).ResponseAsync;
        using RawPeer server = await accepting.Bounded();
        uint cost = 1 << 10;
        for (int i = 0; i < 3; i++)
        {
            RawFrame some = await server.ReceiveAsync();
            cost += (uint)(some.Head.Length + some.Body.Length);
        }

        await cancel.CancelAsync();
        RpcException failure = await CallFailure.OfAsync(sending);
        RawFrame frame = await server.ReceiveAsync();
        for (; frame.Kind != FrameKind.Cancel; frame = await server.ReceiveAsync())
        {
            cost += (uint)frame.Body.Length;
        }

        // Exactly what was sent may be given back.
        server.Send(FrameKind.Credit, argument: cost);
        await _client.UnaryAsync(Payloads.Of("next")).ResponseAsync.Bounded();
        frame = await server.ReceiveAsync();

        Assert.That(failure.StatusCode, Is.EqualTo(StatusCode.Cancelled));
        Assert.That((frame.Kind, frame.Call), Is.EqualTo((FrameKind.CallStart, new CallId(0, 2, false))));
    }
}
