using RpcOverShm.FunctionalTests.Hostile;
using RpcOverShm.Protocol;
using static RpcOverShm.FunctionalTests.Hostile.RawFrames;

namespace RpcOverShm.FunctionalTests.Headers;

/// <summary>
/// A server's frames, read by a raw client: a real client would hide them, because it enforces the deadline and the
/// limits too.
/// </summary>
[Parallelizable]
internal sealed class ServerFrameTests() : RigFixture(RigKind.Shm)
{
    // Long enough for a method to begin first, even on a busy machine.
    private static readonly TimeSpan s_short = TimeSpan.FromSeconds(3);

    [Test]
    [Item("S7")]
    public async Task Headers_GoOutAtOnceAndOnlyWhenWritten()
    {
        var mayEnd = new TaskCompletionSource();
        using RawPeer peer = await ConnectAsync(new Script
        {
            Unary = async (request, context) =>
            {
                if (request.Text() == "headers")
                {
                    await context.WriteResponseHeadersAsync([]);
                    await mayEnd.Task;
                }

                return request;
            },
        });

        peer.StartUnary(First, "none");
        RawFrame end = await peer.ReceiveAsync();
        peer.StartUnary(new CallId(0, 2, false), "headers");
        RawFrame headers = await peer.ReceiveAsync();
        mayEnd.SetResult();

        Assert.That(end.Kind, Is.EqualTo(FrameKind.End));
        Assert.That(headers.Kind, Is.EqualTo(FrameKind.Headers));
        Assert.That((await peer.ReceiveAsync()).Kind, Is.EqualTo(FrameKind.End));
    }

    [Test]
    [Item("S8")]
    public async Task FailureBeforeHeaders_IsASingleFrame()
    {
        using RawPeer peer = await ConnectAsync(new Script
        {
            Unary = (_, context) =>
            {
                context.ResponseTrailers.Add("why", "because");
                throw new RpcException(new Status(StatusCode.NotFound, "nothing"));
            },
        });

        peer.StartUnary(First);
        RawFrame end = await peer.ReceiveAsync();

        Assert.That(end.Kind, Is.EqualTo(FrameKind.End));
        Assert.That(end.Flags, Is.EqualTo(FrameFlags.None), "There is no message.");
        StatusTrailer trailer = StatusTrailer.Decode(end.Head);
        Assert.That(trailer.Status, Is.EqualTo(new Status(StatusCode.NotFound, "nothing")));
        Assert.That(trailer.Metadata!.GetValue("why"), Is.EqualTo("because"));
    }

    [Test]
    [Item("S6")]
    public async Task MessageOfAContextStatusNotOk_IsSentWithTheStatus()
    {
        using RawPeer peer = await ConnectAsync(new Script
        {
            Unary = (request, context) =>
            {
                context.Status = new Status(StatusCode.FailedPrecondition, "set");
                return Task.FromResult(request);
            },
        });

        peer.StartUnary(First, "sent");
        RawFrame end = await peer.ReceiveAsync();

        Assert.That(end.Read().Text(), Is.EqualTo("sent"));
        Assert.That(
            StatusTrailer.Decode(end.Head).Status, Is.EqualTo(new Status(StatusCode.FailedPrecondition, "set")));
    }

    [Test]
    [Item("X_CancellationToken")]
    public async Task CancellationToken_FiresWhenTheClientDies()
    {
        var held = new HeldMethods();
        RawPeer peer = await ConnectAsync(held.Script);

        peer.StartUnary(First);
        await held.Began.Bounded();
        Assert.That(held.Cancelled.IsCompleted, Is.False);
        peer.Dispose();
        await held.Cancelled.Bounded();
    }

    // The token's callback waits until the client has received the end: in the opposite order this would deadlock.
    [Test]
    [Item("S14")]
    public async Task Deadline_IsToldToTheClientFirstAndThenToTheToken()
    {
        using var isTold = new ManualResetEventSlim();
        var fired = new TaskCompletionSource<bool>();
        var mayEnd = new TaskCompletionSource();
        using RawPeer peer = await ConnectAsync(new Script
        {
            Unary = async (request, context) =>
            {
                context.CancellationToken.Register(() => fired.SetResult(isTold.Wait(Timeouts.Wait)));
                await mayEnd.Task;
                context.ResponseTrailers.Add("late", "yes");
                return request;
            },
        });

        Start(peer, First, s_short.Ticks);
        RawFrame end = await peer.ReceiveAsync();
        isTold.Set();

        Assert.That(end.Kind, Is.EqualTo(FrameKind.End));
        Assert.That(StatusTrailer.Decode(end.Head).Status.StatusCode, Is.EqualTo(StatusCode.DeadlineExceeded));
        Assert.That(await fired.Task.Bounded(), "The token fires when the client knows.");
        mayEnd.SetResult();
        await AssertNothingFollowsAsync(peer);
    }

    [Test]
    [Item("S14")]
    public async Task ErrorOfTheMethodThatCameFirst_IsTheOnlyEnd()
    {
        using RawPeer peer = await ConnectAsync(new Script
        {
            Unary = (_, _) => throw new RpcException(new Status(StatusCode.DataLoss, "first")),
            ServerStream = (_, _, context) => Task.Delay(Timeout.Infinite, context.CancellationToken),
        });
        var held = new CallId(1, 1, false);

        Start(peer, First, s_short.Ticks);
        Start(peer, held, s_short.Ticks, Script.ServerStreamMethod);
        RawFrame end = await peer.ReceiveAsync();
        RawFrame later = await peer.ReceiveAsync();

        // The held call started later, so the deadline of the first call has passed too.
        Assert.That(end.Call, Is.EqualTo(First));
        Assert.That(
            StatusTrailer.Decode(end.Head).Status, Is.EqualTo(new Status(StatusCode.DataLoss, "first")));
        Assert.That(later.Call, Is.EqualTo(held));
        Assert.That(StatusTrailer.Decode(later.Head).Status.StatusCode, Is.EqualTo(StatusCode.DeadlineExceeded));
        await AssertNothingFollowsAsync(peer);
    }

    [Test]
    [Item("L06")]
    public async Task DeadlineAtTheServer()
    {
        using RawPeer peer = await ConnectAsync(new HeldMethods().Script);

        Start(peer, First, s_short.Ticks);
        RawFrame end = await peer.ReceiveAsync();

        Assert.That(
            StatusTrailer.Decode(end.Head).Status,
            Is.EqualTo(new Status(StatusCode.DeadlineExceeded, "Deadline Exceeded")));
    }

    // HTTP/2 allows 99,999,999 hours, more than any clock counts: gRPC shortens it, here it means no deadline.
    [TestCase(0L)]
    [TestCase(-1L)]
    [TestCase(long.MinValue)]
    [TestCase(long.MaxValue)]
    [TestCase(99_999_999 * TimeSpan.TicksPerHour)]
    [Item("S14")]
    public async Task TimeoutThatIsInvalidOrTheLargest_IsNoDeadline(long ticks)
    {
        var seen = new TaskCompletionSource<DateTime>();
        using RawPeer peer = await ConnectAsync(new Script
        {
            Unary = (request, context) =>
            {
                seen.SetResult(context.Deadline);
                return Task.FromResult(request);
            },
        });

        Start(peer, First, ticks);
        RawFrame end = await peer.ReceiveAsync();

        Assert.That(StatusTrailer.Decode(end.Head).Status.StatusCode, Is.EqualTo(StatusCode.OK));
        Assert.That(end.Read().Text(), Is.EqualTo("raw"));
        Assert.That(await seen.Task, Is.EqualTo(DateTime.MaxValue));
    }

    [Test]
    [Item("S15")]
    public async Task DeclaredLength_IsCheckedBeforeTheRestHasCome([Values] bool isStream)
    {
        using RawPeer peer = await ConnectAsync(new Script());
        Method<Payload, Payload> method = isStream ? Script.ClientStreamMethod : Script.UnaryMethod;

        peer.Send(FrameKind.CallStart, First, FrameFlags.None, Head(method));
        peer.Send(FrameKind.Message, First, FrameFlags.None, body: [1, 2, 3], argument: (4 << 20) + 1);
        RawFrame end = await peer.ReceiveAsync(FrameKind.End);

        Status status = StatusTrailer.Decode(end.Head).Status;
        Assert.That(status.StatusCode, Is.EqualTo(StatusCode.ResourceExhausted));
        Assert.That(
            status.Detail,
            Does.StartWith("Received message exceeds the maximum configured message size. The message has 4194305 "));
    }

    private static void Start(
        RawPeer peer, CallId call, long timeoutTicks, Method<Payload, Payload>? method = null)
    {
        byte[] head = Head((method ?? Script.UnaryMethod).FullName, timeout: TimeSpan.FromTicks(timeoutTicks));
        peer.Start(call, head, Message("raw"));
    }

    // The next frame is the response of a further call.
    private static async Task AssertNothingFollowsAsync(RawPeer peer)
    {
        var next = new CallId(0, 2, false);
        peer.Send(
            FrameKind.CallStart, next, FrameFlags.HasMessage | FrameFlags.HalfClose, Head("/no.such/Method"));
        RawFrame frame = await peer.ReceiveAsync();
        Assert.That((frame.Kind, frame.Call), Is.EqualTo((FrameKind.End, next)));
    }

    private async Task<RawPeer> ConnectAsync(Script script)
    {
        ShmRig rig = await StartShmAsync(script);
        return await RawPeer.ConnectAsync(rig.Place);
    }
}
