using System.Collections.Concurrent;
using RpcOverShm.FunctionalTests.Hostile;
using RpcOverShm.Protocol;
using static RpcOverShm.FunctionalTests.Hostile.RawFrames;

namespace RpcOverShm.FunctionalTests.OneWay;

/// <summary>The frames of one-way calls, at a server that the test plays.</summary>
[FixtureLifeCycle(LifeCycle.InstancePerTestCase)]
[OneMode]
internal sealed class OneWayFrameTests : IDisposable
{
    private const int PeerViolation = 103;
    private const FrameFlags Whole = FrameFlags.OneWay | FrameFlags.HasMessage | FrameFlags.HalfClose;

    private static readonly byte[] s_cancelled = [(byte)StatusCode.Cancelled, 0];
    private static readonly byte[] s_unavailable = [(byte)StatusCode.Unavailable, 0];

    // The window of a server that takes few bytes.
    private static readonly PeerLimits s_small = RawPeer.Generous with { CallWindow = 64 << 10 };

    private readonly TestDirectory _directory = new();
    private readonly LogGuard _log = new();
    private readonly RawServer _server;
    private readonly ShmChannel _channel;
    private readonly ScriptClient _client;
    private readonly ScriptClient _plain;
    private readonly ConcurrentQueue<(string, StatusCode)> _failures = new();
    private Action _onFailed = static () => { };

    public OneWayFrameTests()
    {
        _server = new RawServer(_directory.Combine("raw.sock"));
        _channel = ShmChannel.ForAddress("shm://raw", new ShmChannelOptions
        {
            Connect = { RuntimeDirectory = _directory.Path },
            LoggerFactory = _log,
        });
        _plain = new ScriptClient(_channel.CreateCallInvoker());
        _client = new ScriptClient(_channel.CreateOneWayInvoker((method, status) =>
        {
            _failures.Enqueue((method.FullName, status.StatusCode));
            _onFailed();
        }));
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
    public async Task SmallCall_IsOneRecord_AndKeepsItsIdUntilItsEnd()
    {
        Task<RawPeer> accepting = _server.AcceptAsync();
        await _client.UnaryAsync(Payloads.Of("a")).ResponseAsync.Bounded();
        await Timeouts.OnThread(() => _client.Unary(Payloads.Of("b"))).Bounded();
        using RawPeer server = await accepting.Bounded();
        RawFrame first = await server.ReceiveAsync();
        RawFrame second = await server.ReceiveAsync();
        server.Send(FrameKind.End, first.Call);
        await AnswerOneAsync(server);
        await _client.UnaryAsync(Payloads.Of("c")).ResponseAsync.Bounded();
        RawFrame third = await server.ReceiveAsync();

        Assert.That((first.Kind, first.Flags, first.Argument), Is.EqualTo((FrameKind.CallStart, Whole, 0)));
        Assert.That((first.Head, first.Read().Text()), Is.EqualTo((UnaryHead, "a")));
        Assert.That((second.Kind, second.Flags, second.Read().Text()), Is.EqualTo((FrameKind.CallStart, Whole, "b")));
        Assert.That((first.Call, second.Call), Is.EqualTo((new CallId(0, 1, false), new CallId(1, 1, false))));
        Assert.That(third.Read().Text(), Is.EqualTo("c"));
        Assert.That(third.Call.Slot, Is.Not.EqualTo(1), "The second call has not ended.");
        Assert.That(third.Call.Slot, Is.LessThan(3), "The slots are used again.");
    }

    [Test]
    public async Task LargeCall_EndsForItsUserWithItsHalfClose([Values] bool isBlocking)
    {
        Task<RawPeer> accepting = _server.AcceptAsync();
        Task sending = isBlocking
            ? Timeouts.OnThread(() => _client.Unary(Payloads.OfSize(100_000)))
            : _client.UnaryAsync(Payloads.OfSize(100_000)).ResponseAsync;
        using RawPeer server = await accepting.Bounded();
        RawFrame start = await server.ReceiveAsync();
        (RawFrame last, _) = await ReceiveRestAsync(server, start);

        await sending.Bounded();
        await _client.UnaryAsync(Payloads.Of("next")).ResponseAsync.Bounded();
        RawFrame next = await server.ReceiveAsync();

        Assert.That((start.Kind, start.Flags), Is.EqualTo((FrameKind.CallStart, FrameFlags.OneWay)));
        Assert.That((last.Call, next.Call), Is.EqualTo((start.Call, new CallId(1, 1, false))));
    }

    [TestCase(FrameKind.Headers, FrameFlags.None)]
    [TestCase(FrameKind.Credit, FrameFlags.None)]
    [TestCase(FrameKind.Message, FrameFlags.Single)]
    [TestCase(FrameKind.End, FrameFlags.HasMessage)]
    public async Task Answer_OtherThanAnEndAlone_IsAViolation(FrameKind kind, FrameFlags flags)
    {
        _log.Expect(PeerViolation);
        Task<RawPeer> accepting = _server.AcceptAsync();
        await _client.UnaryAsync(Payloads.Of("a")).ResponseAsync.Bounded();
        using RawPeer server = await accepting.Bounded();
        RawFrame call = await server.ReceiveAsync();

        server.Send(kind, call.Call, flags, kind == FrameKind.Headers ? [0, 0] : []);

        Assert.That(
            await server.ClosedAsync(),
            Does.Contain($"The peer sent a {kind} frame for one-way call 0.1. The response to such a call is an End"));
    }

    [Test]
    public async Task SecondEnd_IsAViolation()
    {
        _log.Expect(PeerViolation);
        Task<RawPeer> accepting = _server.AcceptAsync();
        await _client.UnaryAsync(Payloads.Of("a")).ResponseAsync.Bounded();
        using RawPeer server = await accepting.Bounded();
        RawFrame call = await server.ReceiveAsync();

        server.Send(FrameKind.End, call.Call);
        server.Send(FrameKind.End, call.Call);

        Assert.That(await server.ClosedAsync(), Does.Contain("which is not open"));
    }

    [Test]
    public async Task ServerThatEndsNoCall_MakesOthersWaitUntilTheirDeadline_AndAnEndLetsThemGo()
    {
        Task<RawPeer> accepting = _server.AcceptAsync(s_small);
        Task first = _client.UnaryAsync(Payloads.OfSize(100_000)).ResponseAsync;
        using RawPeer server = await accepting.Bounded();
        RawFrame start = await server.ReceiveAsync();
        await ReceiveRestAsync(server, start);
        await first.Bounded();

        Task tooLate = _client.UnaryAsync(
            Payloads.Of("late"), new CallOptions(deadline: DateTime.UtcNow.AddMilliseconds(100))).ResponseAsync;
        Task waiting = _client.UnaryAsync(Payloads.Of("waits")).ResponseAsync;
        RpcException failure = await CallFailure.OfAsync(tooLate);
        bool isWaiting = !waiting.IsCompleted;
        server.Send(FrameKind.End, start.Call);
        await waiting.Bounded();
        RawFrame frame = await server.ReceiveAsync();

        Assert.That(failure.StatusCode, Is.EqualTo(StatusCode.DeadlineExceeded));
        Assert.That(isWaiting, Is.True);
        Assert.That(frame.Read().Text(), Is.EqualTo("waits"));
    }

    // Less than a half of the room becomes free, so nobody is woken for that alone.
    [Test]
    public async Task LongCalls_ThatKeepHalfOfTheRoom_DoNotKeepTheRestFromOthers()
    {
        Task<RawPeer> accepting = _server.AcceptAsync(s_small);
        Task first = _client.UnaryAsync(Payloads.OfSize(40_000)).ResponseAsync;
        using RawPeer server = await accepting.Bounded();
        RawFrame start = await server.ReceiveAsync();
        await ReceiveRestAsync(server, start);
        await first.Bounded();
        Task second = _client.UnaryAsync(Payloads.OfSize(30_000)).ResponseAsync;
        RawFrame short_ = await server.ReceiveAsync();
        await ReceiveRestAsync(server, short_);
        await second.Bounded();
        Task waiting = _client.UnaryAsync(Payloads.Of("waits")).ResponseAsync;
        bool isWaiting = !waiting.IsCompleted;

        server.Send(FrameKind.End, short_.Call);

        await waiting.Bounded();
        Assert.That(isWaiting, Is.True);
    }

    [Test]
    public async Task OneWayCalls_TakeHalfOfTheSlots_AndOthersTheRest()
    {
        Task<RawPeer> accepting = _server.AcceptAsync(RawPeer.Generous with { MaxCalls = 4 });
        await _client.UnaryAsync(Payloads.Of("a")).ResponseAsync.Bounded();
        await _client.UnaryAsync(Payloads.Of("b")).ResponseAsync.Bounded();
        using RawPeer server = await accepting.Bounded();
        RawFrame first = await server.ReceiveAsync();
        await server.ReceiveAsync();

        Task waiting = _client.UnaryAsync(Payloads.Of("c")).ResponseAsync;
        await AnswerOneAsync(server);
        bool isWaiting = !waiting.IsCompleted;
        server.Send(FrameKind.End, first.Call);
        await waiting.Bounded();

        Assert.That(isWaiting, Is.True);
        Assert.That((await server.ReceiveAsync()).Read().Text(), Is.EqualTo("c"));
    }

    [Test]
    public async Task CallCancelledHalfWay_SendsACancel_AndKeepsItsRoomUntilItsEnd()
    {
        using var cancel = new CancellationTokenSource();
        Task<RawPeer> accepting = _server.AcceptAsync(s_small);
        Task sending = _client.UnaryAsync(
            Payloads.OfSize(3_000_000), new CallOptions(cancellationToken: cancel.Token)).ResponseAsync;
        using RawPeer server = await accepting.Bounded();
        RawFrame start = await server.ReceiveAsync();
        await server.ReceiveAsync();

        await cancel.CancelAsync();
        RpcException failure = await CallFailure.OfAsync(sending);
        RawFrame frame = await server.ReceiveAsync();
        while (frame.Kind != FrameKind.Cancel)
        {
            frame = await server.ReceiveAsync();
        }

        Task next = _client.UnaryAsync(Payloads.Of("next")).ResponseAsync;
        await AnswerOneAsync(server);
        bool isWaiting = !next.IsCompleted;
        server.Send(FrameKind.End, start.Call, head: s_cancelled);
        await next.Bounded();
        frame = await server.ReceiveAsync();

        Assert.That(failure.StatusCode, Is.EqualTo(StatusCode.Cancelled));
        Assert.That(isWaiting, Is.True);
        Assert.That((frame.Kind, frame.Read().Text()), Is.EqualTo((FrameKind.CallStart, "next")));
        Assert.That(_failures, Is.Empty, "The user knows of the end.");
    }

    [Test]
    public async Task ServerThatStopsInTheMiddleOfARequest_FailsTheCall([Values] bool isBlocking)
    {
        Task<RawPeer> accepting = _server.AcceptAsync();
        Task sending = isBlocking
            ? Timeouts.OnThread(() => _client.Unary(Payloads.OfSize(3_000_000)))
            : _client.UnaryAsync(Payloads.OfSize(3_000_000)).ResponseAsync;
        using RawPeer server = await accepting.Bounded();
        RawFrame start = await server.ReceiveAsync();
        await server.ReceiveAsync();

        server.Send(FrameKind.End, start.Call, head: s_unavailable);

        Assert.That((await CallFailure.OfAsync(sending)).StatusCode, Is.EqualTo(StatusCode.Unavailable));
        await _client.UnaryAsync(Payloads.Of("next")).ResponseAsync.Bounded();
        RawFrame frame = await server.ReceiveAsync();
        while (frame.Kind != FrameKind.CallStart)
        {
            frame = await server.ReceiveAsync();
        }

        Assert.That(frame.Read().Text(), Is.EqualTo("next"));
        Assert.That(_failures, Is.Empty, "The user knows of the end.");
    }

    [Test]
    public async Task CallThatWasSent_IsOverForItsUser_AndItsEndGoesToTheHandler([Values] bool isBlocking)
    {
        using var cancel = new CancellationTokenSource();
        var options = new CallOptions(
            deadline: DateTime.UtcNow.AddMilliseconds(100), cancellationToken: cancel.Token);
        Task<RawPeer> accepting = _server.AcceptAsync();
        await (isBlocking
            ? Timeouts.OnThread(() => _client.Unary(Payloads.Of("a"), options))
            : _client.UnaryAsync(Payloads.Of("a"), options).ResponseAsync).Bounded();
        using RawPeer server = await accepting.Bounded();
        RawFrame start = await server.ReceiveAsync();
        await cancel.CancelAsync();
        await Timeouts.Eventually(() => DateTime.UtcNow > options.Deadline);
        await _client.UnaryAsync(Payloads.Of("next")).ResponseAsync.Bounded();

        RawFrame next = await server.ReceiveAsync();
        server.Send(FrameKind.End, start.Call, head: s_unavailable);
        server.Send(FrameKind.End, next.Call);

        Assert.That(next.Read().Text(), Is.EqualTo("next"), "Neither deadline nor token sends a Cancel.");
        await Timeouts.Eventually(() => !_failures.IsEmpty);
        Assert.That(
            _failures, Is.EqualTo(new[] { (Script.UnaryMethod.FullName, StatusCode.Unavailable) }));
    }

    [Test]
    public async Task Room_OfACallThatFailed_IsFreeWhenItsHandlerHasReturned()
    {
        using var mayReturn = new ManualResetEventSlim();
        using var isRunning = new ManualResetEventSlim();
        _onFailed = () =>
        {
            isRunning.Set();
            mayReturn.Wait();
        };
        Task<RawPeer> accepting = _server.AcceptAsync(s_small);
        Task first = _client.UnaryAsync(Payloads.OfSize(100_000)).ResponseAsync;
        using RawPeer server = await accepting.Bounded();
        RawFrame start = await server.ReceiveAsync();
        await ReceiveRestAsync(server, start);
        await first.Bounded();
        Task waiting = _client.UnaryAsync(Payloads.Of("waits")).ResponseAsync;

        server.Send(FrameKind.End, start.Call, head: s_unavailable);
        await Task.Run(isRunning.Wait).Bounded();
        await AnswerOneAsync(server);
        bool isWaiting = !waiting.IsCompleted;
        mayReturn.Set();

        await waiting.Bounded();
        _onFailed = static () => { }; // The last call gets no End.
        Assert.That(isWaiting, Is.True);
    }

    private static async Task<(RawFrame Last, int Count)> ReceiveRestAsync(RawPeer server, RawFrame frame)
    {
        int count = 0;
        while ((frame.Flags & FrameFlags.HalfClose) == 0)
        {
            frame = await server.ReceiveAsync();
            count++;
        }

        return (frame, count);
    }

    // When the client has the answer, it has read what the server has sent before.
    private async Task AnswerOneAsync(RawPeer server)
    {
        Task<Payload> answer = _plain.UnaryAsync(Payloads.Of("plain")).ResponseAsync;
        RawFrame call = await server.ReceiveAsync();
        Assert.That(call.Read().Text(), Is.EqualTo("plain"));
        server.Send(FrameKind.End, call.Call, FrameFlags.HasMessage, body: Message("answer"));
        await answer.Bounded();
    }
}
