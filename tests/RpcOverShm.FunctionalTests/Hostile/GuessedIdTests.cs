using RpcOverShm.Protocol;
using static RpcOverShm.FunctionalTests.Hostile.RawFrames;

namespace RpcOverShm.FunctionalTests.Hostile;

/// <summary>Ids are given in order, so a server can guess those of calls that it has not heard of.</summary>
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

        // One call to connect; from then on calls are entered, with the next free ids, before they return.
        Task<Payload> first = client.UnaryAsync(Payloads.Empty).ResponseAsync;
        using RawPeer server = await listener.AcceptAsync();
        RawFrame start = await server.ReceiveAsync(FrameKind.CallStart);
        server.Send(FrameKind.End, start.Call, FrameFlags.HasMessage, body: Message("one"));
        await first.Bounded();

        // The server reads no more: most of these wait for space, with an id and unsent.
        Task<Payload>[] calls =
            [.. Enumerable.Range(0, Calls).Select(_ => client.UnaryAsync(Payloads.OfSize(5000)).ResponseAsync)];
        server.Send(FrameKind.End, new CallId(Calls - 1, 1, false), FrameFlags.HasMessage, body: Message("guessed"));

        RpcException[] failures = await Task.WhenAll(calls.Select(CallFailure.OfAsync)).Bounded();
        LogEntry entry = await log.WaitForAsync(PeerViolation);
        Assert.That(failures.Select(failure => failure.StatusCode), Is.All.EqualTo(StatusCode.Internal));
        Assert.That(entry.Message, Does.Contain("not sent yet"));
    }
}
