using RpcOverShm.Buffers;
using RpcOverShm.Protocol;
using static RpcOverShm.FunctionalTests.Hostile.RawFrames;

namespace RpcOverShm.FunctionalTests.Hostile;

/// <summary>Frames that come too early, too late or not at all, and calls that are refused at once.</summary>
internal sealed class UntimelyFrameTests() : RigFixture(RigKind.Shm)
{
    private const int PeerViolation = 103;

    // A peer that reads nothing makes the server keep the text of each refusal.
    [Test]
    public async Task RefusalOfALongName_IsShort([Values] bool isCodec)
    {
        const int MostBytes = 1024;
        string name = new('\u0085', 4_000);
        ShmRig rig = await StartShmAsync(new Script());
        using RawPeer peer = await RawPeer.ConnectAsync(rig.Place, RawPeer.Generous);

        peer.Start(First, Head(
            Script.UnaryMethod.FullName, isCodec ? null : name, codec: isCodec ? name : null), Message("x"));
        RawFrame end = await peer.ReceiveAsync(FrameKind.End);

        Assert.That(StatusTrailer.Decode(end.Head).Status.StatusCode, Is.EqualTo(StatusCode.Unimplemented));
        Assert.That(end.Head, Has.Length.LessThan(2 * MostBytes));
        Assert.That(StatusTrailer.Decode(end.Head).Status.Detail, Does.Contain("\\u0085").And.Contains("..."));
    }

    // Call ids are assigned in order, so a server can guess those of calls that it has not received.
    [Test]
    public async Task End_OfACallThatWaitsForSpace_EndsTheConnectionAndEveryCall()
    {
        const int Calls = 100;
        ShmRig rig = await StartWithoutServerAsync(new RigOptions { RingCapacity = 64 << 10 });
        rig.Log.Expect(PeerViolation);
        using var listener = new RawServer(rig.Place);

        // The first call connects; later calls get the next free id before they return.
        Task<Payload> first = rig.Client.UnaryAsync(Payloads.Empty).ResponseAsync;
        using RawPeer server = await listener.AcceptAsync();
        RawFrame start = await server.ReceiveAsync(FrameKind.CallStart);
        server.Send(FrameKind.End, start.Call, FrameFlags.HasMessage, body: Message("one"));
        await first.Bounded();

        // The server stops reading: most of these calls have an id but wait unsent for space.
        Task<Payload>[] calls =
            [.. Enumerable.Range(0, Calls).Select(_ => rig.Client.UnaryAsync(Payloads.OfSize(5000)).ResponseAsync)];
        server.Send(FrameKind.End, new CallId(Calls - 1, 1, false), FrameFlags.HasMessage, body: Message("guessed"));

        RpcException[] failures = await Task.WhenAll(calls.Select(CallFailure.OfAsync)).Bounded();
        LogEntry entry = await rig.Log.WaitForAsync(PeerViolation);
        Assert.That(failures.Select(failure => failure.StatusCode), Is.All.EqualTo(StatusCode.Internal));
        Assert.That(entry.Message, Does.Contain("not sent yet"));
    }

    // The first frame of a response fixes its headers; later headers are ignored.
    [Test]
    public async Task Headers_AfterAMessage_AreIgnored()
    {
        ShmRig rig = await StartWithoutServerAsync();
        using var listener = new RawServer(rig.Place);
        using AsyncDuplexStreamingCall<Payload, Payload> call = rig.Client.Duplex();
        using RawPeer server = await listener.AcceptCallAsync();
        byte[] message = Message("one");
        using var late = new PooledBufferWriter();
        MetadataCodec.Encode(late, new Metadata { { "key", "late" } });

        server.Send(FrameKind.Message, First, 0, body: message, argument: (uint)message.Length);
        Assert.That(await call.ResponseStream.MoveNext(CancellationToken.None).Bounded());
        server.Send(FrameKind.Headers, First, head: late.WrittenSpan.ToArray());
        server.Send(FrameKind.End, First);
        Assert.That(await call.ResponseStream.MoveNext(CancellationToken.None).Bounded(), Is.False);

        // Asked for only now, so the headers are those that the message has fixed.
        Assert.That(await call.ResponseHeadersAsync.Bounded(), Is.Empty);
    }

    // The rest may never come, and nothing of it is kept.
    [Test]
    public async Task Headers_BeyondEveryLimit_FailTheirCallBeforeTheirEnd()
    {
        ShmRig rig = await StartWithoutServerAsync();
        using var listener = new RawServer(rig.Place);
        Task<RpcException> call = FailureOf(rig.Client.UnaryAsync(Payloads.Empty));
        using RawPeer server = await listener.AcceptCallAsync();
        byte[] part = new byte[8000];
        await server.SendWhenThereIsSpaceAsync(new(FrameKind.Headers, First, FrameFlags.HeadContinues, part));
        for (int i = 1; i < 50; i++)
        {
            await server.SendWhenThereIsSpaceAsync(new(FrameKind.HeadChunk, First, FrameFlags.HeadContinues, part));
        }

        Assert.That((await call.Bounded()).StatusCode, Is.EqualTo(StatusCode.ResourceExhausted));
        await server.ReceiveAsync(FrameKind.Cancel);
        await server.SendWhenThereIsSpaceAsync(new(FrameKind.HeadChunk, First, FrameFlags.None, part));
        await server.SendWhenThereIsSpaceAsync(new(FrameKind.End, First));
        Task<Payload> next = rig.Client.UnaryAsync(Payloads.Empty).ResponseAsync;
        RawFrame start = await server.ReceiveAsync(FrameKind.CallStart);
        server.Send(FrameKind.End, start.Call, FrameFlags.HasMessage, body: Message("next"));
        Assert.That((await next.Bounded()).Text(), Is.EqualTo("next"));
    }

    // Unlike over HTTP/2, the end frame is the status, and an empty one means OK; so the status is missing only if the
    // server disconnects before it ends the call.
    [Test]
    [Item("L12")]
    public async Task ServerThatGoesWithoutAStatus_IsUnavailable_AndAnEndOfNoBytesIsOk([Values] bool isGoing)
    {
        ShmRig rig = await StartWithoutServerAsync();
        using var listener = new RawServer(rig.Place);
        AsyncUnaryCall<Payload> call = rig.Client.UnaryAsync(Payloads.Empty);
        using RawPeer server = await listener.AcceptCallAsync();

        if (isGoing)
        {
            server.Dispose();
            Assert.That((await FailureOf(call)).StatusCode, Is.EqualTo(StatusCode.Unavailable));
        }
        else
        {
            server.Send(FrameKind.End, First, FrameFlags.HasMessage, body: Message("one"));
            Assert.That((await call.ResponseAsync.Bounded()).Text(), Is.EqualTo("one"));
            Assert.That(call.GetStatus(), Is.EqualTo(Status.DefaultSuccess));
        }
    }
}
