using RpcOverShm.FunctionalTests.Hostile;
using RpcOverShm.Protocol;

namespace RpcOverShm.FunctionalTests.Connectivity;

/// <summary>Client items that only this transport can observe, or that Grpc.Core does not have.</summary>
internal sealed class ClientTransportTests() : RigFixture(RigKind.Shm)
{
    private static CallOptions Expired => new(deadline: DateTime.MinValue);

    private static CallOptions Soon => new(deadline: DateTime.UtcNow.AddMilliseconds(300));

    [Test]
    [Item("C1")]
    public async Task InvokingMethod_WhileTheConnectionIsBeingMade_Returns()
    {
        ShmRig rig = await StartWithoutServerAsync();
        using var silent = new SilentListener(rig.Place);

        AnyCall[] calls = [.. AnyCall.Shapes.Select(shape => AnyCall.Start(rig.Invoker, shape))];
        await silent.Accepted.Bounded();

        Assert.That(calls.Select(call => call.Outcome.IsCompleted), Is.All.False);
        foreach (AnyCall call in calls)
        {
            call.Dispose();
            Assert.That((await FailureOf(call.Outcome)).StatusCode, Is.EqualTo(StatusCode.Cancelled));
        }
    }

    [TestCaseSource(typeof(AnyCall), nameof(AnyCall.Shapes))]
    [Item("C2")]
    public async Task DeadlineInThePast_DoesNotEvenConnect(MethodType shape)
    {
        ShmRig rig = await StartShmAsync(new Script());

        RpcException failure = await FailureOf(AnyCall.Start(rig.Invoker, shape, Expired).Outcome);

        Assert.That(failure.Status, Is.EqualTo(new Status(StatusCode.DeadlineExceeded, "")));
        // The server learns of a connection late; the channel's state shows an attempt at once.
        Assert.That(rig.ShmChannel.State, Is.EqualTo(ConnectivityState.Idle));
        Assert.That(rig.Served, Is.Empty);
    }

    // With a working server the timers of both sides race; here only the client's can end the call.
    [TestCaseSource(typeof(AnyCall), nameof(AnyCall.Shapes))]
    [Item("C3")]
    public async Task Deadline_OfAServerThatSaysNothing_EndsTheCallAllTheSame(MethodType shape)
    {
        ShmRig rig = await StartWithoutServerAsync();
        using var server = new RawServer(rig.Place);

        AnyCall call = AnyCall.Start(rig.Invoker, shape, Soon);
        using RawPeer peer = await server.AcceptAsync();
        RpcException failure = await FailureOf(call.Outcome);
        RpcException blocking = await CallFailure.OfBlocking(() => rig.Client.Unary(Payloads.Empty, Soon));

        Assert.That(
            new[] { failure.Status, call.Status, blocking.Status },
            Is.All.EqualTo(new Status(StatusCode.DeadlineExceeded, "")));
    }

    [TestCaseSource(typeof(AnyCall), nameof(AnyCall.Shapes))]
    [Item("C14")]
    public async Task SomethingElseThere_IsInternalWithTheReason(MethodType shape)
    {
        ShmRig rig = await StartWithoutServerAsync();
        using var foreign = new SilentListener(rig.Place, "HTTP/1.1 400 Bad Request\r\n\r\n"u8.ToArray());

        RpcException failure = await FailureOf(AnyCall.Start(rig.Invoker, shape).Outcome);

        Assert.That(failure.StatusCode, Is.EqualTo(StatusCode.Internal));
        Assert.That(
            ((ShmTransportException)failure.Status.DebugException!).Error,
            Is.EqualTo(ShmTransportError.NotThisProtocol));
        Assert.That(failure.Status.Detail, Does.StartWith("Error starting gRPC call. What listens at '"));
    }

    // Unlike grpc-dotnet, whose detail repeats the whole chain of exceptions.
    [Test]
    [Item("C14")]
    public async Task StatusText_SaysOnceWhatTheChainOfExceptionsBeganWith()
    {
        ShmRig rig = await StartWithoutServerAsync();

        RpcException failure = await FailureOf(AnyCall.Start(rig.Invoker, MethodType.Unary).Outcome);

        Assert.That(failure.Status.DebugException!.InnerException, Is.Not.Null);
        Assert.That(failure.Message.Split("No server listens"), Has.Length.EqualTo(2));
        Assert.That(
            failure.Status.Detail, Does.Not.Contain(failure.Status.DebugException.InnerException!.Message));
    }

    [TestCaseSource(typeof(AnyCall), nameof(AnyCall.Shapes))]
    [Item("C9")]
    public async Task Headers_ReadAfterALocalFailureWasAnswered_FailAsTheCallDoes(MethodType shape)
    {
        var held = new HeldMethods();
        ShmRig rig = await StartShmAsync(held.Script);

        AnyCall call = AnyCall.Start(rig.Invoker, shape);
        await held.Began.Bounded();
        call.Dispose();
        RpcException failure = await FailureOf(call.Outcome);
        await Timeouts.Eventually(() => rig.OnlyConnection.IncomingCount == 0, "the server has forgotten the call");
        held.Release();
        await rig.Client.UnaryAsync(Payloads.Empty).ResponseAsync.Bounded();

        Assert.That((await FailureOf(call.Headers)).Status, Is.EqualTo(failure.Status));
    }

    // A server that stops ends each of its calls; a server that dies sends nothing.
    [TestCaseSource(typeof(AnyCall), nameof(AnyCall.Shapes))]
    [Item("C15")]
    public async Task ServerThatDiesDuringTheCall_IsUnavailable(MethodType shape)
    {
        ShmRig rig = await StartWithoutServerAsync();
        using var server = new RawServer(rig.Place);

        AnyCall call = AnyCall.Start(rig.Invoker, shape);
        RawPeer peer = await server.AcceptAsync();
        await peer.ReceiveAsync(FrameKind.CallStart);
        Task<RpcException> blocking = CallFailure.OfBlocking(() => rig.Client.Unary(Payloads.Empty));
        await peer.ReceiveAsync(FrameKind.CallStart);
        peer.Dispose();

        RpcException failure = await FailureOf(call.Outcome);
        Assert.That(failure.StatusCode, Is.EqualTo(StatusCode.Unavailable));
        Assert.That(call.Status, Is.EqualTo(failure.Status));
        Assert.That((await blocking).StatusCode, Is.EqualTo(StatusCode.Unavailable));
    }

    [Test]
    [Item("C17")]
    public async Task ShutdownOfTheChannel_CancelsItsCalls([Values] bool isDispose)
    {
        // Grpc.Core differs: it warns about active calls and leaves them running.
        var held = new HeldMethods();
        ShmRig rig = await StartShmAsync(held.Script);

        Task<RpcException>[] failures =
        [
            .. AnyCall.Shapes.Select(shape => FailureOf(AnyCall.Start(rig.Invoker, shape).Outcome)),
            CallFailure.OfBlocking(() => rig.Client.Unary(Payloads.Empty)),
            CallFailure.OfBlocking(() => rig.Client.Unary(Payloads.Empty)),
        ];
        await Timeouts.Eventually(() => held.Begun == failures.Length, "all methods have begun");
        await (isDispose ? Timeouts.OnThread(rig.ShmChannel.Dispose) : rig.ShmChannel.ShutdownAsync()).Bounded();

        Assert.That(
            (await Task.WhenAll(failures)).Select(failure => failure.StatusCode),
            Is.All.EqualTo(StatusCode.Cancelled));
        await Timeouts.Eventually(() => held.Ended == failures.Length, "the tokens of all methods fire");
    }

    [Test]
    [Item("C22")]
    public async Task CompleteAsyncAndDisposeAtOnce_SendTheHalfCloseAheadOfTheCancel()
    {
        ShmRig rig = await StartWithoutServerAsync();
        using var server = new RawServer(rig.Place);
        AsyncDuplexStreamingCall<Payload, Payload> call = rig.Client.Duplex();
        using RawPeer peer = await server.AcceptAsync();
        await peer.ReceiveAsync(FrameKind.CallStart);

        Task completing = call.RequestStream.CompleteAsync();
        call.Dispose();

        Assert.That((await peer.ReceiveAsync()).Kind, Is.EqualTo(FrameKind.HalfClose));
        Assert.That((await peer.ReceiveAsync()).Kind, Is.EqualTo(FrameKind.Cancel));
        await completing.Bounded();
    }

    [Test]
    public async Task CompleteAsyncAndDisposeAtOnce_BehindAFullRing_SendTheHalfCloseAheadOfTheCancel()
    {
        ShmRig rig = await StartWithoutServerAsync(new RigOptions { RingCapacity = 64 << 10 });
        using var server = new RawServer(rig.Place);
        AsyncDuplexStreamingCall<Payload, Payload> call = rig.Client.Duplex();
        using RawPeer peer = await server.AcceptAsync();
        CallId id = (await peer.ReceiveAsync(FrameKind.CallStart)).Call;
        using AsyncDuplexStreamingCall<Payload, Payload> filling = rig.Client.Duplex();
        Task write = filling.RequestStream.WriteAsync(Payloads.OfSize(500_000));

        await call.RequestStream.CompleteAsync().Bounded();
        call.Dispose();

        var kinds = new List<FrameKind>();
        while (kinds.LastOrDefault() != FrameKind.Cancel)
        {
            RawFrame frame = await peer.ReceiveAsync();
            if (frame.Call == id)
            {
                kinds.Add(frame.Kind);
            }
        }

        Assert.That(kinds, Is.EqualTo(new[] { FrameKind.HalfClose, FrameKind.Cancel }));
        Assert.That(write.IsFaulted, Is.False);
    }
}
