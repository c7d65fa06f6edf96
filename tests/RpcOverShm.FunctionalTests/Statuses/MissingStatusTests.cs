using RpcOverShm.FunctionalTests.Hostile;
using RpcOverShm.Protocol;
using static RpcOverShm.FunctionalTests.Hostile.RawFrames;

namespace RpcOverShm.FunctionalTests.Statuses;

/// <summary>
/// A missing status. Unlike over HTTP/2, the end frame is the status, and an empty one means OK; so the status is
/// missing only if the server disconnects before it ends the call.
/// </summary>
internal sealed class MissingStatusTests
{
    [Test]
    [Item("L12")]
    public async Task ServerThatGoesWithoutAStatus_IsUnavailable()
    {
        using var directory = new TestDirectory();
        using var log = new LogGuard();
        using var listener = new RawServer(directory.Combine("gone.sock"));
        await using var channel = ShmChannel.ForAddress(
            "shm://gone", new ShmChannelOptions { RuntimeDirectory = directory.Path, LoggerFactory = log });
        AsyncUnaryCall<Payload> call = new ScriptClient(channel.CreateCallInvoker()).UnaryAsync(Payloads.Empty);
        RawPeer server = await listener.AcceptAsync();
        await server.ReceiveAsync(FrameKind.CallStart);

        server.Dispose();
        RpcException failure = await CallFailure.OfAsync(call.ResponseAsync);

        Assert.That(failure.StatusCode, Is.EqualTo(StatusCode.Unavailable));
        log.Check();
    }

    [Test]
    [Item("L12")]
    public async Task EndOfNoBytes_IsOk()
    {
        using var directory = new TestDirectory();
        using var log = new LogGuard();
        using var listener = new RawServer(directory.Combine("short.sock"));
        await using var channel = ShmChannel.ForAddress(
            "shm://short", new ShmChannelOptions { RuntimeDirectory = directory.Path, LoggerFactory = log });
        AsyncUnaryCall<Payload> call = new ScriptClient(channel.CreateCallInvoker()).UnaryAsync(Payloads.Empty);
        using RawPeer server = await listener.AcceptAsync();
        RawFrame start = await server.ReceiveAsync(FrameKind.CallStart);

        server.Send(FrameKind.End, start.Call, FrameFlags.HasMessage, body: Message("one"));

        Assert.That((await call.ResponseAsync.Bounded()).Text(), Is.EqualTo("one"));
        Assert.That(call.GetStatus(), Is.EqualTo(Status.DefaultSuccess));
        log.Check();
    }
}
