using Grpc.Core;
using RpcOverShm.Clients;
using RpcOverShm.Protocol;
using RpcOverShm.Rings;
using RpcOverShm.Tests.Connections;
using RpcOverShm.Tests.Systems;

namespace RpcOverShm.Tests.Clients;

/// <summary>The moments at which the calls of a batch become visible to the server.</summary>
internal sealed class CallBatchTests
{
    private static readonly Method<string, string> s_method = new(
        MethodType.Unary, "loose", "method", Marshallers.StringMarshaller, Marshallers.StringMarshaller);

    private readonly CallBatch _batch = new();

    [Test]
    public async Task FirstCall_IsPublishedAtOnceAndWakesAServerThatSleeps()
    {
        await using var rig = new SubchannelRig();
        RawPeer server = await ConnectAsync(rig);
        long position = server.Link.Reader.Position;
        uint localEvents = server.Link.LocalEvents;
        Assert.That(server.Link.Reader.Arm(WakeMethods.Futex));
        var asleep = new Sleeper(() => server.Link.SleepForData(position, localEvents, Timeouts.Wait));
        asleep.WaitUntilAsleep();

        _ = Record(InvokerOf(rig, _batch), "first");

        Assert.That(server.TryReceive()?.Body, Is.EqualTo("first"u8.ToArray()));
        Assert.That(asleep.Join().WasWoken);
        server.Link.Reader.Disarm();
    }

    [Test]
    public async Task FirstCall_WhoseStartThrows_LeavesItsPlaceToTheNext()
    {
        await using var rig = new SubchannelRig();
        ShmCallInvoker invoker = InvokerOf(rig, _batch);
        var local = new CallOptions(deadline: new DateTime(2100, 1, 1, 0, 0, 0, DateTimeKind.Local));

        Assert.That(
            () => invoker.AsyncUnaryCall(s_method, host: null, local, "never"),
            Throws.InvalidOperationException);
        bool isFirst = _batch.TryAdd(new SingleResponseCall<string>(new LooseMethod(), latch: null), out bool first)
            && first;

        Assert.That(isFirst);
    }

    [Test]
    public async Task LaterCalls_AreNotPublishedBeforeTheBatchIsSent()
    {
        await using var rig = new SubchannelRig();
        RawPeer server = await ConnectAsync(rig);
        bool wasDeferred = false;

        // A call is not always seen to be deferred: the client's reader publishes it when it happens to be awake.
        for (int attempt = 0; attempt < 1000 && !wasDeferred; attempt++)
        {
            using var batch = new CallBatch();
            ShmCallInvoker invoker = InvokerOf(rig, batch);
            AsyncUnaryCall<string> first = Record(invoker, "first");
            Answer(server);
            await first.ResponseAsync.Bounded();
            AsyncUnaryCall<string> second = Record(invoker, "second");
            wasDeferred = !server.Link.Reader.HasData;

            Assert.That(await batch.TrySendAsync().Bounded());
            Assert.That(server.Link.Reader.HasData);
            Answer(server);
            Assert.That(await second.ResponseAsync.Bounded(), Is.EqualTo("second"));
        }

        Assert.That(wasDeferred);
    }

    [Test]
    public async Task Call_ThatGetsItsConnectionAfterTheSend_IsPublishedAllTheSame()
    {
        using var rig = new CallingRig();
        var call = new SingleResponseCall<string>(new LooseMethod(), latch: null);
        Assert.That(_batch.TryAdd(call, out bool isFirst) && isFirst);
        Assert.That(await _batch.TrySendAsync().Bounded());

        // Another thread has recorded it, and comes to the rest of that only here.
        call.TryAttach(rig.Connection);
        rig.Connection.StartCall(call, FrameFlags.None, "head"u8, default, isDeferred: true);
        _batch.OnStarted(call, Task.CompletedTask);

        Assert.That(rig.Peer.TryReceive()?.Call, Is.EqualTo(call.Id));
    }

    /// <summary>Connects first, so that the calls start on the thread that records them.</summary>
    private static async Task<RawPeer> ConnectAsync(SubchannelRig rig)
    {
        rig.Listen();
        await rig.GetAsync().Bounded();
        return rig.TakeServer();
    }

    private static ShmCallInvoker InvokerOf(SubchannelRig rig, CallBatch batch) =>
        new ShmCallInvoker(rig.Subchannel, LooseMethod.SettingsWith(new LogGuard())).InBatch(batch);

    private static AsyncUnaryCall<string> Record(ShmCallInvoker invoker, string request) =>
        invoker.AsyncUnaryCall(s_method, host: null, default, request);

    /// <summary>Answers the next call with its request.</summary>
    private static void Answer(RawPeer server)
    {
        RawFrame call = server.Receive();
        server.Send(new RawFrame(FrameKind.End, call.Call, FrameFlags.HasMessage, Body: call.Body));
    }
}
