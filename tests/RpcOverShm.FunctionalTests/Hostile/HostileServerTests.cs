using System.Runtime.InteropServices;
using RpcOverShm.Links;
using RpcOverShm.Protocol;
using RpcOverShm.Segments;
using RpcOverShm.Systems;
using static RpcOverShm.FunctionalTests.Hostile.RawFrames;

namespace RpcOverShm.FunctionalTests.Hostile;

/// <summary>
/// Servers that break the protocol: calls there fail with a status and never hang, the client's log names the reason,
/// other channels are not affected, and the same channel works with the next server.
/// </summary>
[OneMode]
internal sealed class HostileServerTests : RawServerFixture
{
    public HostileServerTests()
        : base(connectTimeout: TimeSpan.FromSeconds(2)) => Log.Expect(PeerViolation);

    public static IEnumerable<TestCaseData> Violations =>
        Cases("unary", RingViolations.All.Concat(ServerViolations.All));

    public static IEnumerable<TestCaseData> StreamViolations => Cases("stream", ServerViolations.OfStreams);

    [TestCaseSource(nameof(Violations))]
    public async Task Violation_EndsUnaryCallsWithAStatus(object violation)
    {
        var what = (Violation)violation;
        Task<RpcException?> blocking = OutcomeAsync(Timeouts.OnThread(() => Client.Unary(Payloads.Empty)));
        using RawPeer server = await Server.AcceptCallAsync();
        Task<RpcException?> awaited = OutcomeAsync(Client.UnaryAsync(Payloads.Empty).ResponseAsync);
        await server.ReceiveAsync(FrameKind.CallStart);

        await AssertViolationAsync(server, what);
        RpcException?[] outcomes = [await blocking.Bounded(), await awaited.Bounded()];

        // One of the calls may have been answered first.
        Assert.That(outcomes.Count(outcome => outcome?.StatusCode == StatusCode.Internal), Is.GreaterThanOrEqualTo(1));
        Assert.That(
            outcomes.Select(outcome => outcome?.StatusCode ?? StatusCode.OK),
            Is.All.AnyOf(StatusCode.Internal, StatusCode.OK));
        await AssertChannelLivesAsync();
    }

    [TestCaseSource(nameof(StreamViolations))]
    public async Task Violation_EndsAStreamWithAStatus(object violation)
    {
        var what = (Violation)violation;
        using AsyncDuplexStreamingCall<Payload, Payload> call = Client.Duplex();
        using RawPeer server = await Server.AcceptCallAsync();

        await AssertViolationAsync(server, what);
        RpcException? failure = await OutcomeAsync(call.ResponseStream.ToListAsync()).Bounded();

        Assert.That(failure?.StatusCode, Is.EqualTo(StatusCode.Internal));
        Assert.That(call.GetStatus().StatusCode, Is.EqualTo(StatusCode.Internal));
        await AssertChannelLivesAsync();
    }

    [Test]
    public async Task Violation_LeavesOtherChannelsAlone()
    {
        await using var other = new ShmServer(
            "shm://other", new ShmServerOptions { Listen = { RuntimeDirectory = Directory.Option } });
        other.Services.Add(new Script().Build());
        await other.StartAsync();
        await using var channel = ShmChannel.ForAddress(
            "shm://other", new ShmChannelOptions { Connect = { RuntimeDirectory = Directory.Option } });
        var client = new ScriptClient(channel.CreateCallInvoker());
        using AsyncDuplexStreamingCall<Payload, Payload> innocent = client.Duplex();
        await innocent.RequestStream.WriteAsync(Payloads.Of("before")).Bounded();

        Task<RpcException?> call = OutcomeAsync(Client.UnaryAsync(Payloads.Empty).ResponseAsync);
        using RawPeer server = await Server.AcceptCallAsync();
        server.SetTail(8);

        Assert.That((await call.Bounded())?.StatusCode, Is.EqualTo(StatusCode.Internal));
        await innocent.RequestStream.CompleteAsync().Bounded();
        Assert.That((await innocent.ResponseStream.ToListAsync()).Single().Text(), Is.EqualTo("before"));
    }

    [Test]
    public async Task Responses_WithoutEnd_ToACallThatWantsOne_CostBoundedMemory()
    {
        Task<RpcException?> call = OutcomeAsync(Client.UnaryAsync(Payloads.Empty).ResponseAsync);
        using RawPeer server = await Server.AcceptCallAsync();
        long before = GC.GetTotalMemory(forceFullCollection: true);

        byte[] body = new byte[8000];
        for (int i = 0; i < 20_000; i++)
        {
            Assert.That(await server.SendWhenThereIsSpaceAsync(new(FrameKind.Message, First, 0, [], body, 8000)));
            server.TryReceive(out _);
        }

        // 160 MB were sent.
        Assert.That(GC.GetTotalMemory(forceFullCollection: true) - before, Is.LessThan(50 << 20));
        Assert.That((await call.Bounded())?.StatusCode, Is.EqualTo(StatusCode.Internal));
    }

    [Test]
    public async Task GoAway_WithTheHandshake_EndsCallsUnavailable([Values] bool isBlocking)
    {
        var servers = new List<RawPeer>();
        Task serving = Task.Run(async () =>
        {
            for (int i = 0; i < 30; i++)
            {
                servers.Add(await Server.AcceptAsync());
                servers[^1].Send(FrameKind.GoAway);
            }
        });
        for (int calls = 0; !serving.IsCompleted; calls++)
        {
            Assert.That(calls, Is.LessThan(300), "The client leaves those who say farewell.");
            var soon = new CallOptions(deadline: DateTime.UtcNow.AddSeconds(0.1));
            RpcException? failure = await OutcomeAsync(isBlocking
                ? Timeouts.OnThread(() => Client.Unary(Payloads.Empty, soon))
                : Client.UnaryAsync(Payloads.Empty, soon).ResponseAsync).Bounded();

            // A call that was sent before the client read the GoAway waits for a response that never comes.
            Assert.That(
                failure?.StatusCode, Is.EqualTo(StatusCode.Unavailable).Or.EqualTo(StatusCode.DeadlineExceeded));
        }

        await serving;
        servers.ForEach(server => server.Dispose());
    }

    [TestCase(30_000)]
    [TestCase(300_000, Category = LongAttribute.Name)]
    public async Task GoAway_OverAndOver_CostsBoundedMemory(int times)
    {
        Task<RpcException?> call = OutcomeAsync(Client.UnaryAsync(Payloads.Empty).ResponseAsync);
        using RawPeer server = await Server.AcceptCallAsync();
        server.Send(FrameKind.GoAway);
        long before = GC.GetTotalMemory(forceFullCollection: true);

        for (int i = 0; i < times; i++)
        {
            Assert.That(await server.SendWhenThereIsSpaceAsync(new(FrameKind.GoAway)));
        }

        // An object that each frame left behind would have 24 bytes.
        long kept = GC.GetTotalMemory(forceFullCollection: true) - before;
        Assert.That(kept, Is.LessThan(Math.Max(1 << 20, 24 * times)));
        Assert.That(
            await server.SendWhenThereIsSpaceAsync(new(FrameKind.End, First, FrameFlags.HasMessage, [], Message("x"))));
        Assert.That(await call.Bounded(), Is.Null);
    }

    [TestCase(2)]
    [TestCase(100, Category = LongAttribute.Name)]
    public async Task Frames_WithoutEnd_DoNotKeepTheChannelFromItsDispose(int rings)
    {
        Task<RpcException?> call = OutcomeAsync(Timeouts.OnThread(() => Client.Unary(Payloads.Empty)));
        using RawPeer server = await Server.AcceptCallAsync();
        using var stop = new CancellationTokenSource();
        Task flood = Timeouts.OnThread(() => Flood(server, stop.Token));
        await Timeouts.Eventually(() => server.PeerHead > rings * server.Capacity, "the flood is read");

        await Channel.DisposeAsync().Bounded();
        RpcException? failure = await call.Bounded();
        await stop.CancelAsync();
        await flood.Bounded();

        Assert.That(failure?.StatusCode, Is.EqualTo(StatusCode.Cancelled));
    }

    // Once the end was read, the slot may belong to another call, so pending frames of the old call must not be sent.
    [Test]
    public async Task Cancel_OfACallWhoseEndWasRead_IsNotSentToItsSlotsNextCall()
    {
        var mayRead = new TaskCompletionSource();
        var isReading = new TaskCompletionSource();
        Method<Payload, Payload> method = Script.UnaryMethod.Parsing(_ =>
        {
            isReading.SetResult();
            mayRead.Task.Wait(Timeouts.Wait);
            return Payloads.Empty;
        });
        CallInvoker invoker = Channel.CreateCallInvoker();

        AsyncUnaryCall<Payload> first = invoker.AsyncUnaryCall(method, null, default, Payloads.Empty);
        using RawPeer server = await Server.AcceptCallAsync();
        server.Send(FrameKind.End, First, FrameFlags.HasMessage, body: Message("x"));
        await isReading.Task.Bounded();
        Task<Payload> second = Client.UnaryAsync(Payloads.Empty).ResponseAsync;
        RawFrame start = await server.ReceiveAsync(FrameKind.CallStart);
        first.Dispose();
        Task<Payload> third = Client.UnaryAsync(Payloads.Empty).ResponseAsync;
        RawFrame next = await server.ReceiveAsync();

        Assert.That(start.Call, Is.EqualTo(new CallId(0, 2, false)), "the slot was used again");
        Assert.That(next.Kind, Is.EqualTo(FrameKind.CallStart), "nothing of the first call came");
        mayRead.SetResult();
        server.Send(FrameKind.End, start.Call, FrameFlags.HasMessage, body: Message("second"));
        server.Send(FrameKind.End, next.Call, FrameFlags.HasMessage, body: Message("third"));
        Assert.That((await second.Bounded()).Text() + (await third.Bounded()).Text(), Is.EqualTo("secondthird"));
    }

    [Test]
    public async Task Trailers_BeyondEveryLimit_EndTheCallAndFreeItsPlace()
    {
        using AsyncUnaryCall<Payload> call = Client.UnaryAsync(Payloads.Empty);
        using RawPeer server = await Server.AcceptCallAsync();

        byte[] chunk = new byte[8000];
        await server.SendWhenThereIsSpaceAsync(new(FrameKind.End, First, FrameFlags.HeadContinues, chunk));
        for (int i = 0; i < 1000; i++)
        {
            FrameFlags flags = i < 999 ? FrameFlags.HeadContinues : 0;
            await server.SendWhenThereIsSpaceAsync(new(FrameKind.HeadChunk, First, flags, chunk));
        }

        RpcException? failure = await OutcomeAsync(call.ResponseAsync).Bounded();
        Task<Payload> next = Client.UnaryAsync(Payloads.Empty).ResponseAsync;
        RawFrame start = await server.ReceiveAsync(FrameKind.CallStart);
        server.Send(FrameKind.End, start.Call, FrameFlags.HasMessage, body: Message("next"));

        Assert.That(failure?.StatusCode, Is.EqualTo(StatusCode.ResourceExhausted));
        Assert.That((await next.Bounded()).Text(), Is.EqualTo("next"));
        Assert.That(start.Call, Is.EqualTo(new CallId(0, 2, false)), "the first call's place is used again");
    }

    [Test]
    public async Task BadEnd_InTheMiddleOfAMessage_IsTheCallsStatus()
    {
        using AsyncDuplexStreamingCall<Payload, Payload> call = Client.Duplex();
        using RawPeer server = await Server.AcceptCallAsync();

        server.Send(FrameKind.Message, First, 0, body: new byte[100], argument: 1000);
        server.Send(FrameKind.End, First, 0, head: Trailer(StatusCode.DataLoss, "no more"));
        RpcException? failure = await OutcomeAsync(call.ResponseStream.ToListAsync()).Bounded();

        Assert.That(failure?.Status.Plain(), Is.EqualTo(new Status(StatusCode.DataLoss, "no more")));
        Assert.That(Log.Of(PeerViolation), Is.Empty);
    }

    [TestCase("wrong connection", "an answer to another hello")]
    [TestCase("stream", "an answer to another hello")]
    [TestCase("ring", "a ring of 12345 bytes")]
    [TestCase("size", "has 69632 bytes; it announced 200704")]
    [TestCase("file", "not a memory file")]
    [TestCase("none", "0 descriptors came")]
    [TestCase("client", "refused:")]
    [TestCase("close", "closed the connection without an answer")]
    [TestCase("half", "closed after 10 bytes")]
    [TestCase("short", "of type 2 with 63 bytes")]
    public async Task Answer_ThatLies_FailsTheCallAndLeavesNothing(string lie, string complaint)
    {
        ProcessFacts before = ProcessFacts.OfSelf();
        Task<RpcException?> call = OutcomeAsync(Client.UnaryAsync(Payloads.Empty).ResponseAsync);
        using (Wire wire = await Server.AcceptWireAsync())
        {
            using Handshake.ReceivedHello? hello =
                await Handshake.ReceiveAsync(wire, CancellationToken.None).Bounded();
            Lie(wire, hello!.Hello, lie);
        }

        RpcException? failure = await call.Bounded();

        Assert.That(failure?.StatusCode, Is.AnyOf(StatusCode.Internal, StatusCode.Unavailable));
        string here = OperatingSystem.IsWindows()
            ? complaint.Replace("descriptors", "handles").Replace("not a memory file", "of the type Semaphore")
            : complaint;
        Assert.That(failure!.Status.Detail, Does.Contain(here));
        await ProcessFacts.ReturnsToAsync(before);
        await AssertChannelLivesAsync();
    }

    private static IEnumerable<TestCaseData> Cases(string shape, IEnumerable<Violation> violations) =>
        violations.Select(
            violation => new TestCaseData(violation) { TestName = $"Violation ({shape}): {violation.Name}" });

    private static async Task<RpcException?> OutcomeAsync(Task call)
    {
        try
        {
            await call;
            return null;
        }
        catch (RpcException exception)
        {
            return exception;
        }
    }

    // Fills the ring with GoAway frames and keeps the tail one capacity ahead of the victim's head, so that the victim
    // never finds the ring empty.
    private static void Flood(RawPeer server, CancellationToken stop)
    {
        for (long position = 0; position < server.Capacity; position += Rings.RecordHeader.SizeBytes)
        {
            server.Plant(position, new Rings.RecordHeader(0, (byte)FrameKind.GoAway, 0, 0, 0, 0));
        }

        // A peer that rings without need would be closed for that.
        long rungFor = 0;
        while (!stop.IsCancellationRequested)
        {
            server.SetTail(server.PeerHead + server.Capacity, ref rungFor);
        }
    }

    private static void Lie(Wire wire, Hello hello, string lie)
    {
        Hello answer = RawHello.Of(HelloType.Server, RawPeer.Generous, hello.ConnectionId);
        using var segment = SharedSegment.Create(64 << 10, hello.ConnectionId);
        using Signal signal = HostSystem.Current.CreateSignal();
        using SafeHandle? file = OperatingSystem.IsWindows() ? null : File.OpenHandle("/dev/null");
        SafeHandle[] handles = [segment.Handle, .. signal.Offer];
        switch (lie)
        {
            case "wrong connection":
                wire.Send((answer with { ConnectionId = Guid.NewGuid() }).Encode(), handles);
                break;
            case "stream":
                wire.Send((answer with { Purpose = ConnectionPurpose.ByteStream }).Encode(), handles);
                break;
            case "ring":
                wire.Send(WithRing(12345), handles);
                break;
            case "size":
                wire.Send(WithRing(128 << 10), handles);
                break;
            case "file":
                wire.Send(answer.Encode(), [file ?? signal.Offer[0], .. signal.Offer]);
                break;
            case "none":
                wire.Send(answer.Encode(), []);
                break;
            case "client":
                wire.Send((answer with { Type = HelloType.Client }).Encode(), handles);
                break;
            case "short":
                wire.Send(Shortened(answer), handles);
                break;
            case "half":
                wire.Send(answer.Encode().AsSpan(0, 10), handles);
                break;
            default:
                break;
        }

        byte[] WithRing(long capacity) =>
            (answer with { Limits = answer.Limits with { RingCapacity = capacity } }).Encode();
    }

    private async Task AssertViolationAsync(RawPeer server, Violation what)
    {
        Task acting = what.ActAsync(server);
        string lastWord = await server.ClosedAsync();
        LogEntry entry = await Log.WaitForAsync(PeerViolation);
        await acting.Bounded();

        Assert.That(entry.Message, Does.Contain(what.Complaint));
        Assert.That(lastWord, Does.Contain(what.Complaint));
    }

    // The next server at the address is honest for one call. The call waits for it, because during the back-off after a
    // violation it would fail like the previous one.
    private async Task AssertChannelLivesAsync()
    {
        Task<Payload> call = Client.UnaryAsync(
            Payloads.Of("again"), new CallOptions().WithWaitForReady()).ResponseAsync;
        using RawPeer server = await Server.AcceptAsync();
        RawFrame start = await server.ReceiveAsync(FrameKind.CallStart);
        server.Send(FrameKind.End, start.Call, FrameFlags.HasMessage, body: start.Body);
        Assert.That((await call.Bounded()).Text(), Is.EqualTo("again"));
    }
}
