using RpcOverShm.Protocol;
using static RpcOverShm.FunctionalTests.Hostile.RawFrames;

namespace RpcOverShm.FunctionalTests.Hostile;

/// <summary>Call ids are assigned in order, so a server can guess those of calls that it has not received.</summary>
internal sealed class GuessedIdTests
{
    private const int PeerViolation = 103;

    [Test]
    public async Task End_OfACallThatWaitsForSpace_EndsTheConnectionAndEveryCall()
    {
        const int Calls = 100;
        using var directory = new TestDirectory();
        using var log = new LogGuard();
        using var listener = new RawServer(directory.Combine("guess.sock"));
        await using var channel = ShmChannel.ForAddress("shm://guess", new ShmChannelOptions
        {
            RuntimeDirectory = directory.Path,
            LoggerFactory = log,
            RingCapacity = 64 << 10,
        });
        var client = new ScriptClient(channel.CreateCallInvoker());

        // The first call connects; later calls get the next free id before they return.
        Task<Payload> first = client.UnaryAsync(Payloads.Empty).ResponseAsync;
        using RawPeer server = await listener.AcceptAsync();
        RawFrame start = await server.ReceiveAsync(FrameKind.CallStart);
        server.Send(FrameKind.End, start.Call, FrameFlags.HasMessage, body: Message("one"));
        await first.Bounded();

        // The server stops reading: most of these calls have an id but wait unsent for space.
        Task<Payload>[] calls =
            [.. Enumerable.Range(0, Calls).Select(_ => client.UnaryAsync(Payloads.OfSize(5000)).ResponseAsync)];
        server.Send(FrameKind.End, new CallId(Calls - 1, 1, false), FrameFlags.HasMessage, body: Message("guessed"));

        RpcException[] failures = await Task.WhenAll(calls.Select(CallFailure.OfAsync)).Bounded();
        LogEntry entry = await log.WaitForAsync(PeerViolation);
        Assert.That(failures.Select(failure => failure.StatusCode), Is.All.EqualTo(StatusCode.Internal));
        Assert.That(entry.Message, Does.Contain("not sent yet"));
    }
}
