using System.Buffers;
using RpcOverShm.FunctionalTests.Codecs;
using RpcOverShm.FunctionalTests.Hostile;
using RpcOverShm.Protocol;

namespace RpcOverShm.FunctionalTests.Connectivity;

/// <summary>Transparent retry of calls that are refused while their request is still serialised or sent.</summary>
internal sealed class RefusedRequestTests() : RigFixture(RigKind.Shm)
{
    private const int LargeBytes = 300_000;

    private static readonly RigOptions s_smallRing = new() { RingCapacity = 64 << 10 };

    [Test]
    public async Task LargeCall_AfterAnother_IsServedByTheNextServer([Values] bool isStream)
    {
        // After a large request, the next one is sent while it is being serialised.
        ShmRig rig = await StartWithoutServerAsync();
        var leaving = new RawServer(rig.Place);
        Method<byte[], byte[]> method = BytesService.Method(
            isStream ? MethodType.ServerStreaming : MethodType.Unary, requests: InParts(static () => { }));
        AnyCall first = AnyCall.Start(rig.Invoker, method, new byte[LargeBytes]).Call;
        using RawPeer server = await leaving.AcceptAsync();
        await AnswerAsync(server);
        await first.Outcome.Bounded();

        AnyCall second = AnyCall.Start(rig.Invoker, method, new byte[LargeBytes]).Call;
        leaving.Dispose();
        await rig.StartServerAsync(BytesService.Build());
        server.Refuse(await server.ReceiveCallAsync());

        await second.Outcome.Bounded();
        Assert.That(second.Status, Is.EqualTo(Status.DefaultSuccess));
    }

    [Test]
    public async Task Call_RefusedWhileItIsSerialised_IsServedByTheNextServer([Values] bool isStream)
    {
        ShmRig rig = await StartWithoutServerAsync();
        var leaving = new RawServer(rig.Place);
        int requests = 0;
        using var mayGoOn = new ManualResetEventSlim();
        Method<byte[], byte[]> method = BytesService.Method(
            isStream ? MethodType.ServerStreaming : MethodType.Unary,
            requests: InParts(() =>
            {
                if (Interlocked.Increment(ref requests) == 2)
                {
                    mayGoOn.Wait(Timeouts.Wait);
                }
            }));
        AnyCall first = AnyCall.Start(rig.Invoker, method, new byte[LargeBytes]).Call;
        using RawPeer server = await leaving.AcceptAsync();
        await AnswerAsync(server);
        await first.Outcome.Bounded();

        Task<AnyCall> starting = Timeouts.OnThread(
            () => AnyCall.Start(rig.Invoker, method, new byte[LargeBytes]).Call);
        RawFrame start = await server.ReceiveAsync(FrameKind.CallStart);
        leaving.Dispose();
        await rig.StartServerAsync(BytesService.Build());
        server.Refuse(start.Call);

        // The client has left this connection.
        await server.ClosedAsync();
        mayGoOn.Set();

        AnyCall second = await starting.Bounded();
        await second.Outcome.Bounded();
        Assert.That(second.Status, Is.EqualTo(Status.DefaultSuccess));
        Assert.That(requests, Is.EqualTo(3), "The call was made again.");
    }

    [Test]
    public async Task LargeCall_RefusedWhileItWaitsForSpace_IsServedByTheNextServer([Values] bool isBlocking)
    {
        ShmRig rig = await StartWithoutServerAsync(s_smallRing);
        var leaving = new RawServer(rig.Place);
        ScriptClient client = rig.Client;
        Task<Payload> answer = isBlocking
            ? Timeouts.OnThread(() => client.Unary(Payloads.OfSize(LargeBytes)))
            : client.UnaryAsync(Payloads.OfSize(LargeBytes)).ResponseAsync;

        // The server never reads the rest of the request.
        using RawPeer server = await leaving.AcceptAsync();
        RawFrame start = await server.ReceiveAsync(FrameKind.CallStart);
        leaving.Dispose();
        await rig.StartServerAsync(new Script().Build());
        server.Refuse(start.Call);

        Assert.That((await answer.Bounded()).IsOfSize(LargeBytes));
    }

    [Test]
    public async Task SmallCall_ThatHasWaitedForSpace_IsServedByTheNextServer([Values] bool isBlocking)
    {
        ShmRig rig = await StartWithoutServerAsync(s_smallRing);
        var leaving = new RawServer(rig.Place);
        ScriptClient client = rig.Client;
        using AsyncDuplexStreamingCall<Payload, Payload> filling = client.Duplex();
        using RawPeer server = await leaving.AcceptCallAsync();
        Task write = filling.RequestStream.WriteAsync(Payloads.OfSize(LargeBytes));

        Task<Payload> answer = isBlocking
            ? Timeouts.OnThread(() => client.Unary(Payloads.Of("small")))
            : client.UnaryAsync(Payloads.Of("small")).ResponseAsync;
        RawFrame start = await server.ReceiveAsync(FrameKind.CallStart);
        leaving.Dispose();
        await rig.StartServerAsync(new Script().Build());
        server.Refuse(start.Call);

        Assert.That((await answer.Bounded()).Text(), Is.EqualTo("small"));
        Assert.That(write.IsFaulted, Is.False);
    }

    /// <summary>Creates a marshaller that announces the length and runs a delegate between the two halves.</summary>
    private static Marshaller<byte[]> InParts(Action between) => new(
        (message, context) =>
        {
            context.SetPayloadLength(message.Length);
            IBufferWriter<byte> writer = context.GetBufferWriter();
            writer.Write(message.AsSpan(0, message.Length / 2));
            between();
            writer.Write(message.AsSpan(message.Length / 2));
            context.Complete();
        },
        static context => context.PayloadAsNewBuffer());

    private static async Task AnswerAsync(RawPeer server) =>
        server.Send(FrameKind.End, await server.ReceiveCallAsync(), FrameFlags.HasMessage, [], [1, 2, 3]);
}
