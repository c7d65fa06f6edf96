using System.Collections.Concurrent;
using RpcOverShm.FunctionalTests.Hostile;
using RpcOverShm.Protocol;
using static RpcOverShm.FunctionalTests.Hostile.RawFrames;

namespace RpcOverShm.FunctionalTests.OneWay;

/// <summary>The frames of one-way calls, at a server that the test plays.</summary>
[OneMode]
internal sealed class OneWayFrameTests : RawServerFixture
{
    private const FrameFlags Whole = FrameFlags.OneWay | FrameFlags.HasMessage | FrameFlags.HalfClose;

    private static readonly byte[] s_cancelled = [(byte)StatusCode.Cancelled, 0];
    private static readonly byte[] s_unavailable = [(byte)StatusCode.Unavailable, 0];

    // The window of a server that takes few bytes.
    private static readonly PeerLimits s_small = RawPeer.Generous with { CallWindow = 64 << 10 };

    private readonly ScriptClient _client;
    private readonly ConcurrentQueue<(string, StatusCode)> _failures = new();
    private Action _onFailed = static () => { };
    private RawPeer? _peer;

    public OneWayFrameTests() => _client = new ScriptClient(Channel.CreateOneWayInvoker((method, status) =>
    {
        _failures.Enqueue((method.FullName, status.StatusCode));
        _onFailed();
    }));

    public override void Dispose()
    {
        _peer?.Dispose();
        base.Dispose();
    }

    [Test]
    public async Task SmallCall_IsOneRecord_AndKeepsItsIdUntilItsEnd()
    {
        (RawPeer server, RawFrame first) = await TakeAsync(Payloads.Of("a"));
        await SendAsync(Payloads.Of("b"), isBlocking: true).Bounded();
        RawFrame second = await server.ReceiveAsync();
        server.Send(FrameKind.End, first.Call);
        await AnswerOneAsync(server);
        await SendAsync(Payloads.Of("c")).Bounded();
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
        Task sending = SendAsync(Payloads.OfSize(100_000), isBlocking);
        using RawPeer server = await Server.AcceptAsync();
        RawFrame start = await server.ReceiveAsync();
        RawFrame last = await ReceiveRestAsync(server, start);

        await sending.Bounded();
        await SendAsync(Payloads.Of("next")).Bounded();
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
        Log.Expect(PeerViolation);
        (RawPeer server, RawFrame call) = await TakeAsync(Payloads.Of("a"));

        server.Send(kind, call.Call, flags, kind == FrameKind.Headers ? [0, 0] : []);

        Assert.That(
            await server.ClosedAsync(),
            Does.Contain($"The peer sent {kind} for one-way call 0.1. The response to such a call is an End"));
    }

    [Test]
    public async Task SecondEnd_IsAViolation()
    {
        Log.Expect(PeerViolation);
        (RawPeer server, RawFrame call) = await TakeAsync(Payloads.Of("a"));

        server.Send(FrameKind.End, call.Call);
        server.Send(FrameKind.End, call.Call);

        Assert.That(await server.ClosedAsync(), Does.Contain("which is not open"));
    }

    [Test]
    public async Task ServerThatEndsNoCall_MakesOthersWaitUntilTheirDeadline_AndAnEndLetsThemGo()
    {
        (RawPeer server, RawFrame start) = await TakeAsync(Payloads.OfSize(100_000), s_small);

        Task tooLate = _client.UnaryAsync(
            Payloads.Of("late"), new CallOptions(deadline: DateTime.UtcNow.AddMilliseconds(100))).ResponseAsync;
        Task waiting = SendAsync(Payloads.Of("waits"));
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
        (RawPeer server, RawFrame _) = await TakeAsync(Payloads.OfSize(40_000), s_small);
        Task second = SendAsync(Payloads.OfSize(30_000));
        RawFrame short_ = await server.ReceiveAsync();
        await ReceiveRestAsync(server, short_);
        await second.Bounded();
        Task waiting = SendAsync(Payloads.Of("waits"));
        bool isWaiting = !waiting.IsCompleted;

        server.Send(FrameKind.End, short_.Call);

        await waiting.Bounded();
        Assert.That(isWaiting, Is.True);
    }

    [Test]
    public async Task OneWayCalls_TakeHalfOfTheSlots_AndOthersTheRest()
    {
        (RawPeer server, RawFrame first) =
            await TakeAsync(Payloads.Of("a"), RawPeer.Generous with { MaxCalls = 4 });
        await SendAsync(Payloads.Of("b")).Bounded();
        await server.ReceiveAsync();

        Task waiting = SendAsync(Payloads.Of("c"));
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
        Task sending = SendAsync(
            Payloads.OfSize(3_000_000), options: new CallOptions(cancellationToken: cancel.Token));
        using RawPeer server = await Server.AcceptAsync(s_small);
        RawFrame start = await server.ReceiveAsync();
        await server.ReceiveAsync();

        await cancel.CancelAsync();
        RpcException failure = await CallFailure.OfAsync(sending);
        await server.ReceiveAsync(FrameKind.Cancel);
        Task next = SendAsync(Payloads.Of("next"));
        await AnswerOneAsync(server);
        bool isWaiting = !next.IsCompleted;
        server.Send(FrameKind.End, start.Call, head: s_cancelled);
        await next.Bounded();
        RawFrame frame = await server.ReceiveAsync();

        Assert.That(failure.StatusCode, Is.EqualTo(StatusCode.Cancelled));
        Assert.That(isWaiting, Is.True);
        Assert.That((frame.Kind, frame.Read().Text()), Is.EqualTo((FrameKind.CallStart, "next")));
        Assert.That(_failures, Is.Empty, "The user knows of the end.");
    }

    [Test]
    public async Task ServerThatStopsInTheMiddleOfARequest_FailsTheCall([Values] bool isBlocking)
    {
        Task sending = SendAsync(Payloads.OfSize(3_000_000), isBlocking);
        using RawPeer server = await Server.AcceptAsync();
        RawFrame start = await server.ReceiveAsync();
        await server.ReceiveAsync();

        server.Send(FrameKind.End, start.Call, head: s_unavailable);

        Assert.That((await CallFailure.OfAsync(sending)).StatusCode, Is.EqualTo(StatusCode.Unavailable));
        await SendAsync(Payloads.Of("next")).Bounded();
        RawFrame frame = await server.ReceiveAsync(FrameKind.CallStart);

        Assert.That(frame.Read().Text(), Is.EqualTo("next"));
        Assert.That(_failures, Is.Empty, "The user knows of the end.");
    }

    [Test]
    public async Task CallThatWasSent_IsOverForItsUser_AndItsEndGoesToTheHandler([Values] bool isBlocking)
    {
        using var cancel = new CancellationTokenSource();
        var options = new CallOptions(
            deadline: DateTime.UtcNow.AddMilliseconds(100), cancellationToken: cancel.Token);
        Task<RawPeer> accepting = Server.AcceptAsync();
        await SendAsync(Payloads.Of("a"), isBlocking, options).Bounded();
        using RawPeer server = await accepting.Bounded();
        RawFrame start = await server.ReceiveAsync();
        await cancel.CancelAsync();
        await Timeouts.Eventually(() => DateTime.UtcNow > options.Deadline);
        await SendAsync(Payloads.Of("next")).Bounded();

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
        (RawPeer server, RawFrame start) = await TakeAsync(Payloads.OfSize(100_000), s_small);
        Task waiting = SendAsync(Payloads.Of("waits"));

        server.Send(FrameKind.End, start.Call, head: s_unavailable);
        await Task.Run(isRunning.Wait).Bounded();
        await AnswerOneAsync(server);
        bool isWaiting = !waiting.IsCompleted;
        mayReturn.Set();

        await waiting.Bounded();
        _onFailed = static () => { }; // The last call gets no End.
        Assert.That(isWaiting, Is.True);
    }

    private static async Task<RawFrame> ReceiveRestAsync(RawPeer server, RawFrame frame)
    {
        while ((frame.Flags & FrameFlags.HalfClose) == 0)
        {
            frame = await server.ReceiveAsync();
        }

        return frame;
    }

    private Task<Payload> SendAsync(Payload request, bool isBlocking = false, CallOptions options = default) =>
        isBlocking
            ? Timeouts.OnThread(() => _client.Unary(request, options))
            : _client.UnaryAsync(request, options).ResponseAsync;

    // Accepts the channel, takes its first call, and waits for the caller. Returns the first frame.
    private async Task<(RawPeer Server, RawFrame Start)> TakeAsync(Payload request, PeerLimits? limits = null)
    {
        Task sending = SendAsync(request);
        _peer = await Server.AcceptAsync(limits);
        RawFrame start = await _peer.ReceiveAsync();
        await ReceiveRestAsync(_peer, start);
        await sending.Bounded();
        return (_peer, start);
    }

    // When the client has the answer, it has read what the server has sent before.
    private async Task AnswerOneAsync(RawPeer server)
    {
        Task<Payload> answer = Client.UnaryAsync(Payloads.Of("plain")).ResponseAsync;
        RawFrame call = await server.ReceiveAsync();
        Assert.That(call.Read().Text(), Is.EqualTo("plain"));
        server.Send(FrameKind.End, call.Call, FrameFlags.HasMessage, body: Message("answer"));
        await answer.Bounded();
    }
}
