using RpcOverShm.FunctionalTests.Hostile;
using RpcOverShm.Protocol;
using static RpcOverShm.FunctionalTests.Hostile.RawFrames;

namespace RpcOverShm.FunctionalTests.Statuses;

/// <summary>
/// L12, which cannot be as it is over HTTP/2: the frame that ends a call is its status, and one of no bytes is OK. What
/// is left of it is a server that goes without having ended the call.
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
