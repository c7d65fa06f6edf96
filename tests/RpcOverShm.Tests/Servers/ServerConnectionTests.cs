using System.Text;
using Grpc.Core;
using RpcOverShm.Calls;
using RpcOverShm.Links;
using RpcOverShm.Protocol;
using RpcOverShm.Servers;
using RpcOverShm.Tests.Links;
using RpcOverShm.Tests.Protocol;

namespace RpcOverShm.Tests.Servers;

/// <summary>The count of methods, which outlive their calls, and the frames that end both.</summary>
internal sealed class ServerConnectionTests
{
    private readonly TaskCompletionSource _began = new(TaskCreationOptions.RunContinuationsAsynchronously);
    private readonly TaskCompletionSource<string> _result = new();

    [Test]
    public async Task Idle_IsReachedWithTheLastMethodAndNotWithTheLastCall()
    {
        using var rig = new ServedRig { Unary = HeldAsync };
        CallId call = rig.Call(MethodType.Unary);
        await _began.Task.Bounded();
        rig.Server.StopAccepting();
        Task idle = rig.Server.WhenIdleAsync();

        rig.Peer.Send(new RawFrame(FrameKind.Cancel, call));
        RawFrame end = rig.Peer.ReceiveUntil(FrameKind.End)[^1];
        await rig.Server.Connection.WhenIncomingCallsEndAsync().Bounded();
        (bool, int) whileItRuns = (idle.IsCompleted, rig.Server.PendingOrRunning);
        _result.SetResult("too late");
        await idle.Bounded();

        Assert.That(StatusTrailer.Decode(end.Head).Status.StatusCode, Is.EqualTo(StatusCode.Cancelled));
        Assert.That(whileItRuns, Is.EqualTo((false, 1)));
        Assert.That(rig.Server.PendingOrRunning, Is.Zero);
        Assert.That(rig.Peer.ReceiveAll(), Is.Empty, "A call ends once.");
    }

    [Test]
    public async Task Stop_RefusesLaterCallsAsUnseenAndEndsTheOthersWithTheirTokens()
    {
        using var rig = new ServedRig { Unary = UntilCancelledAsync };
        CallId live = rig.Call(MethodType.Unary);
        await _began.Task.Bounded();

        rig.Server.StopAccepting();
        CallId late = rig.Call(MethodType.Unary);
        List<RawFrame> refusal = rig.Peer.ReceiveUntil(FrameKind.End);
        rig.Server.EndAllCalls(StatusMapping.ServerStopping);
        RawFrame end = rig.Peer.Receive();
        await rig.Server.WhenIdleAsync().Bounded();

        Assert.That(refusal[0].Kind, Is.EqualTo(FrameKind.GoAway), "A retry must not meet this connection.");
        Assert.That(refusal.Select(frame => frame.Call), Is.EqualTo(new[] { CallId.None, late }));
        Assert.That(StatusTrailer.Decode(refusal[1].Head), Is.EqualTo(
            new StatusTrailer(StatusMapping.ServerStopping, Metadata: null, IsNotProcessed: true)));
        Assert.That(end.Call, Is.EqualTo(live));
        Assert.That(StatusTrailer.Decode(end.Head), Is.EqualTo(
            new StatusTrailer(StatusMapping.ServerStopping, Metadata: null, IsNotProcessed: false)));
    }

    [Test]
    public void CallsThatAStopSpares_AreRefusedAfterItsGrace([Values] bool isOneWay)
    {
        using var rig = new ServedRig();
        rig.Server.StopAccepting();
        Status?[] refusals =
        [
            rig.Server.Admit(isInChain: false),
            rig.Server.Admit(isInChain: !isOneWay, isOneWay),
        ];
        rig.Server.EndAllCalls(StatusMapping.ServerStopping);

        Assert.That(refusals, Is.EqualTo(new Status?[] { StatusMapping.ServerStopping, null }));
        Assert.That(
            rig.Server.Admit(isInChain: !isOneWay, isOneWay), Is.EqualTo(StatusMapping.ServerStopping));
    }

    [Test]
    public async Task MethodsThatWaitToAnswer_AndWhoseCallsEnd_LeaveNothing()
    {
        const int Waits = 20_000;
        using var rig = new ServedRig();
        rig.Server.BufferBudget.TakeUnsent(rig.Server.BufferBudget.LimitBytes);
        var ended = new CancellationToken(canceled: true);
        await rig.Server.WaitToSendResponseAsync(ended); // It costs the code of the method once.
        rig.Server.OnResponseQueued();
        long before = GC.GetTotalMemory(forceFullCollection: true);

        for (int i = 0; i < Waits; i++)
        {
            using var cancel = new CancellationTokenSource();
            Task waiting = rig.Server.WaitToSendResponseAsync(cancel.Token);
            Assert.That(waiting.IsCompleted, Is.False);
            await cancel.CancelAsync();
            await waiting.Bounded();
            rig.Server.OnResponseQueued();
        }

        // A wait that stayed would have a hundred bytes and more.
        Assert.That(GC.GetTotalMemory(forceFullCollection: true) - before, Is.LessThan(Waits * 50));
    }

    // Each one that leaves lets in the next one, which has ended too.
    [Test]
    public async Task Close_WithManyCallsInOrderBehindAFullGate_EndsThemAll()
    {
        const int Calls = 10_000;
        const int Bytes = 1 << 30;
        var limits = new ServerLimits(
            MaxCallsPerConnection: 1, MaxCalls: null, Calls, Bytes, Bytes, TimeSpan.FromSeconds(30));
        var links = new LinkPair(clientRing: 4 << 20, maxCalls: 2 * Calls);
        using var rig = new ServedRig(limits, links: links, isUnaryOrdered: true)
        {
            Stream = (_, _, _) => _result.Task,
        };
        rig.Call(MethodType.ServerStreaming);
        for (int i = 0; i < Calls; i++)
        {
            rig.Call(MethodType.Unary);
        }

        await Timeouts.Eventually(() => rig.Server.Queued == Calls);
        rig.Server.Connection.Close(new CloseReason(CloseKind.Local, "The client has gone."));

        await Timeouts.Eventually(() => rig.Server.PendingOrRunning == 1, "The method of the stream has the place.");
        _result.SetResult("late");
        await Timeouts.Eventually(
            () => rig.Server is { PendingOrRunning: 0, Queued: 0, BufferBudget.UsedBytes: 0 }, "Nothing is counted.");
    }

    [Test]
    public async Task Cancel_BeforeTheRequestIsWhole_RunsNoMethodAndLeavesNoneCounted()
    {
        using var rig = new ServedRig { Unary = HeldAsync };
        CallId call = rig.Call(MethodType.Unary, FrameFlags.HasMessage); // The half-close is missing.
        await Timeouts.Eventually(() => rig.Server.PendingOrRunning == 1);

        rig.Peer.Send(new RawFrame(FrameKind.Cancel, call));
        await rig.Server.WhenIdleAsync().Bounded();

        Assert.That(rig.Peer.Receive().Kind, Is.EqualTo(FrameKind.End));
        Assert.That(_began.Task.IsCompleted, Is.False);
    }

    [Test]
    public async Task Response_IsHeadersThenMessagesThenTheStatus([Values] bool isEncoded)
    {
        IServerStreamWriter<string>? writer = null;
        Exception? lateHeaders = null;
        using var rig = new ServedRig(encoding: isEncoded ? MessageEncoding.Gzip : null)
        {
            Stream = async (request, responses, context) =>
            {
                writer = responses;
                await (isEncoded ? Task.CompletedTask : context.WriteResponseHeadersAsync([]));
                await responses.WriteAsync("one");
                lateHeaders = Assert.CatchAsync(() => context.WriteResponseHeadersAsync([]));
                _ = responses.WriteAsync("two"); // The method does not wait for it, and its end does.
                context.Status = new Status(StatusCode.DataLoss, "lost");
            },
        };
        rig.Call(MethodType.ServerStreaming);

        List<RawFrame> frames = rig.Peer.ReceiveUntil(FrameKind.End);

        Assert.That(frames.Select(frame => frame.Kind), Is.EqualTo(
            (FrameKind[])[FrameKind.Headers, FrameKind.Message, FrameKind.Message, FrameKind.End]));
        Assert.That(StatusTrailer.Decode(frames[^1].Head).Status, Is.EqualTo(new Status(StatusCode.DataLoss, "lost")));
        Assert.That(lateHeaders, Is.InstanceOf<InvalidOperationException>());
        Assert.That(async () => await writer!.WriteAsync("three").Bounded(), Throws.InvalidOperationException);
        Assert.That(rig.Peer.ReceiveAll(), Is.Empty);
        await rig.Server.WhenIdleAsync().Bounded();
    }

    [TestCase("/test.Rig/Unary", StatusCode.ResourceExhausted, "larger than the 1000 bytes that are allowed")]
    [TestCase("/test.Rig/Other", StatusCode.Unimplemented, "")]
    public void Call_WithFarMoreMetadataThanTheLimit_FailsAsAnyAboveIt(string method, StatusCode code, string why)
    {
        const byte HasMetadata = 2;
        using var rig = new ServedRig();
        var id = new CallId(0, generation: 1, isFromAcceptor: false);
        byte[] name = Encoding.UTF8.GetBytes(method);
        byte[] head = [HasMetadata, (byte)name.Length, 0, .. name, .. SampleMetadata.Block(1000)];

        rig.Peer.Send(new RawFrame(FrameKind.CallStart, id, FrameFlags.HasMessage | FrameFlags.HalfClose, head, []));

        Status status = StatusTrailer.Decode(rig.Peer.Receive().Head).Status;
        Assert.That(status.StatusCode, Is.EqualTo(code));
        Assert.That(status.Detail, Does.Contain(why));
        Assert.That(rig.Server.PendingOrRunning, Is.Zero);
    }

    // The client has sent all this before it can know that the call has ended.
    [Test]
    public async Task Message_OfACallThatEndedBeforeItsHeadWasComplete_IsNoViolation()
    {
        const int Calls = 90;
        using var rig = new ServedRig(links: new LinkPair(clientRing: 1 << 20))
        {
            Unary = (_, _) => Task.FromResult(new string('r', 990)),
        };
        for (int i = 0; i < Calls; i++)
        {
            rig.Call(MethodType.Unary);
        }

        ServerConnection server = rig.Server;
        await Timeouts.Eventually(() => server.Admitted == Calls && server.Connection.IncomingCount < Calls);
        var id = new CallId(Calls, generation: 1, isFromAcceptor: false);
        byte[] head = "\0\u0005\0/a/bc"u8.ToArray();
        rig.Peer.Send(new RawFrame(FrameKind.CallStart, id, FrameFlags.HeadContinues, head[..4]));
        await Timeouts.Eventually(
            () => server.Connection.Sender.Incoming.Snapshot().Any(call => call.PartialHead is not null));

        server.EndAllCalls(StatusMapping.ServerStopping);
        int calls = server.Connection.IncomingCount;
        rig.Peer.Send(new RawFrame(FrameKind.HeadChunk, id, FrameFlags.None, head[4..]));
        rig.Peer.Send(new RawFrame(FrameKind.Message, id, FrameFlags.HalfClose, Body: [1], Argument: 1));
        CallId later = rig.Call(MethodType.Unary, slot: Calls + 1);

        // Nothing is read before, so the Ends of both calls wait.
        await Timeouts.Eventually(
            () => server.Connection.IncomingCount == calls + 1 || server.Connection.CloseReason is not null);
        Assert.That(server.Connection.CloseReason, Is.Null);
        List<RawFrame> frames = rig.Peer.ReceiveUntilEndOf(later);

        Assert.That(frames.Count(frame => frame.Call == id && frame.Kind == FrameKind.End), Is.EqualTo(1));
    }

    [Test]
    public async Task Write_ThatTheMethodDoesNotAwait_PrecedesTheEndBehindUnreadResponses()
    {
        var mayWrite = new TaskCompletionSource(TaskCreationOptions.RunContinuationsAsynchronously);
        var hasWritten = new TaskCompletionSource<bool>(TaskCreationOptions.RunContinuationsAsynchronously);
        ServerConnection? server = null;
        using var rig = new ServedRig
        {
            Unary = (_, _) => Task.FromResult(new string('r', 50_000)),
            Stream = async (_, responses, _) =>
            {
                await mayWrite.Task;
                bool isFull = server!.BufferBudget.IsSendQueueFull;
                Task write = responses.WriteAsync("late");
                hasWritten.SetResult(isFull && !write.IsCompleted);
            },
        };
        server = rig.Server;
        CallId stream = rig.Call(MethodType.ServerStreaming);
        for (int i = 0; i < 30; i++)
        {
            rig.Call(MethodType.Unary);
        }

        await Timeouts.Eventually(() => server.BufferBudget.IsSendQueueFull);
        mayWrite.SetResult();
        Assert.That(await hasWritten.Task.Bounded(), "The message waits.");
        List<RawFrame> frames = rig.Peer.ReceiveUntilEndOf(stream);

        RawFrame[] ofStream = [.. frames.Where(frame => frame.Call == stream)];
        Assert.That(
            ofStream.Select(frame => frame.Kind),
            Is.EqualTo((FrameKind[])[FrameKind.Message, FrameKind.End]));
        Assert.That(ofStream[0].Body, Is.EqualTo("late"u8.ToArray()));
        Assert.That(StatusTrailer.Decode(ofStream[1].Head).Status.StatusCode, Is.EqualTo(StatusCode.OK));
    }

    // Some wait for their request, and the Ends of the others wait for space in the ring.
    [Test]
    public async Task Call_IsChargedForItsHostUntilItsEndIsSent([Values] bool isRequestWhole)
    {
        const int Calls = 90;
        const int HostLength = 4000;
        using var rig = new ServedRig(links: new LinkPair(clientRing: 1 << 20))
        {
            Unary = (_, _) => Task.FromResult(new string('r', 990)),
        };
        FrameFlags flags = isRequestWhole ? FrameFlags.HasMessage | FrameFlags.HalfClose : FrameFlags.None;
        for (int i = 0; i < Calls; i++)
        {
            rig.Call(MethodType.Unary, flags, new string('h', HostLength));
        }

        ServerConnection server = rig.Server;
        await Timeouts.Eventually(
            () => server.Admitted == Calls && server.PendingOrRunning == (isRequestWhole ? 0 : Calls));

        // A method is no longer counted when its response is about to be queued.
        await Timeouts.Eventually(
            () => server.BufferBudget.UsedBytes > server.Connection.IncomingCount * 2 * HostLength);
        int kept = server.Connection.IncomingCount;
        Assert.That(kept, isRequestWhole ? Is.InRange(10, Calls - 1) : Is.EqualTo(Calls));

        rig.Peer.ReceiveAll();
        server.Connection.Close(new CloseReason(CloseKind.Local, "The client has gone."));
        await Timeouts.Eventually(() => server.BufferBudget.UsedBytes == 0);
    }

    [Test]
    public async Task Call_ThatIsRefused_KeepsLittleOfItsHead()
    {
        const int Calls = 3000;
        const int Length = 1000;
        using var rig = new ServedRig(links: new LinkPair(clientRing: 8 << 20, maxCalls: Calls + 1));
        long before = GC.GetTotalMemory(forceFullCollection: true);
        for (int i = 0; i < Calls; i++)
        {
            rig.Call(MethodType.Unary, host: new string('h', Length), method: new string('m', Length));
        }

        rig.Call(MethodType.Unary);
        await Timeouts.Eventually(() => rig.Server.Admitted == 1, "All earlier calls were refused.");
        int kept = rig.Server.Connection.IncomingCount;
        long bytes = GC.GetTotalMemory(forceFullCollection: true) - before;

        Assert.That(kept, Is.GreaterThan(Calls / 4), "The Ends do not fit into the ring.");
        Assert.That(bytes, Is.LessThan(kept * 3 * Length), "With their heads they would keep more than twice that.");
    }

    private Task<string> HeldAsync(string request, ServerCallContext context)
    {
        _began.SetResult();
        return _result.Task;
    }

    private Task<string> UntilCancelledAsync(string request, ServerCallContext context)
    {
        context.CancellationToken.Register(() => _result.SetResult("too late"));
        return HeldAsync(request, context);
    }
}
