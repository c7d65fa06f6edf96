using RpcOverShm.Diagnostics;

namespace RpcOverShm.FunctionalTests.TwoProcess;

/// <summary>
/// The peer dies at a crash point, whose comment states the outcome. <see cref="EveryPoint_HasItsTest"/> checks that
/// each point has a test.
/// </summary>
[OneMode]
internal sealed class CrashPointTests : StandingPeerFixture
{
    private static readonly string[] s_whileStarting = [CrashPoint.RendezvousLocked, CrashPoint.RendezvousBound];

    private static readonly string[] s_whileServing =
    [
        CrashPoint.HelloReceived, CrashPoint.RecordWritten, CrashPoint.RecordRead, CrashPoint.HeadPublished,
        CrashPoint.ReaderArmed,
    ];

    private static readonly string[] s_whileCalling =
    [
        CrashPoint.HelloSent, CrashPoint.RecordWritten, CrashPoint.TailPublished, CrashPoint.RecordRead,
        CrashPoint.HeadPublished, CrashPoint.ReaderArmed,
    ];

    [Test]
    public void EveryPoint_HasItsTest() => Assert.That(
        s_whileStarting.Concat(s_whileServing).Concat(s_whileCalling).Append(CrashPoint.RendezvousUnbound).Distinct(),
        Is.EquivalentTo(CrashPoint.All));

    // A lock file remains, and perhaps a socket that refuses connections. The next server takes both over.
    [TestCaseSource(nameof(s_whileStarting))]
    [LinuxOnly("A pipe has neither a lock nor a file.")]
    public async Task Server_DiesWhileItStarts_TheNextTakesTheAddress(string point)
    {
        PeerProcess peer = await StartPeerAsync("--crash-at", point);
        await peer.SendAsync($"serve {Address} {Directory.Word}");
        await AssertKilledAsync(peer);
        Assert.That(Directory.FileNames, Is.EqualTo(
            point == CrashPoint.RendezvousLocked ? Files(LockName) : Files(LockName, SocketName)));

        ScriptClient client = OpenClient();
        RpcException failure = await CallFailure.OfBlocking(() => client.Unary(Payloads.Empty));
        await TakeServingPeerAsync();

        Assert.That(failure.StatusCode, Is.EqualTo(StatusCode.Unavailable));
        Assert.That(client.Unary(Payloads.Of("next")).Text(), Is.EqualTo("next"));
    }

    [Test]
    [LinuxOnly("A pipe has neither a lock nor a file.")]
    public async Task Server_DiesWhileItStops_TheNextTakesTheAddress()
    {
        PeerProcess peer = await StartServingPeerAsync("--crash-at", CrashPoint.RendezvousUnbound);
        ScriptClient client = OpenClient();
        client.Unary(Payloads.Empty);
        await peer.SendAsync("stop");
        await AssertKilledAsync(peer);
        Assert.That(Directory.FileNames, Is.EqualTo(Files(LockName)));

        await TakeServingPeerAsync();

        await Timeouts.Eventually(() => Answers(client, "next"));
    }

    // The server dies in the handshake, before it publishes the response, or with the request unread.
    [TestCaseSource(nameof(s_whileServing))]
    public async Task Server_DiesBeforeItAnswers_TheCallEndsUnavailable(string point)
    {
        PeerProcess peer = await StartServingPeerAsync("--crash-at", point);
        ScriptClient client = OpenClient();
        ProcessFacts before = ProcessFacts.OfSelf();

        (RpcException failure, int answered) = await CallUntilItFailsAsync(client, peer);
        await AssertKilledAsync(peer);
        await ReturnsToAsync(before);
        await TakeServingPeerAsync();

        Assert.That(failure.StatusCode, Is.EqualTo(StatusCode.Unavailable));
        Assert.That(client.Unary(Payloads.Of("next")).Text(), Is.EqualTo("next"));

        // The reader passes these points when it has nothing to read, so an earlier request may have been answered.
        bool isIdle = point is CrashPoint.HeadPublished or CrashPoint.ReaderArmed;
        Assert.That(answered, isIdle ? Is.LessThanOrEqualTo(1) : Is.Zero);
    }

    // The response is published but the client is not woken: the socket's end wakes it, and it reads the response.
    [Test]
    public async Task Server_DiesAfterItsAnswerIsVisible_TheAnswerCounts([Values] bool isBlocking)
    {
        PeerProcess peer = await StartServingPeerAsync("--crash-at", CrashPoint.TailPublished);
        ScriptClient client = OpenClient();

        Payload response = isBlocking
            ? await Timeouts.OnThread(() => client.Unary(Payloads.OfSize(500))).Bounded()
            : await client.UnaryAsync(Payloads.OfSize(500)).ResponseAsync.Bounded();
        await AssertKilledAsync(peer);

        Assert.That(response.IsOfSize(500));
    }

    // A published request may be served, and its token then fires; an unpublished one is never seen.
    [TestCaseSource(nameof(s_whileCalling))]
    public async Task Client_DiesInACall_TheServerLivesOn(string point)
    {
        int handled = 0;
        var fired = new TaskCompletionSource();
        ShmServer server = await ServeAsync(new Script
        {
            Unary = async (request, context) =>
            {
                Interlocked.Increment(ref handled);
                if (request.Text() == "hold")
                {
                    context.CancellationToken.Register(fired.SetResult);
                    await Task.Delay(Timeout.Infinite, context.CancellationToken);
                }

                return request;
            },
        });
        PeerProcess peer = await StartCallingPeerAsync("--crash-at", point);
        bool isHeld = point == CrashPoint.TailPublished;
        await peer.SendAsync(isHeld ? "hold async" : "echo 10");
        await AssertKilledAsync(peer);
        await Timeouts.Eventually(() => server.Running!.Connections.Count == 0);

        if (isHeld && Volatile.Read(ref handled) > 0)
        {
            await fired.Task.Bounded();
        }

        bool isUnseen = point is CrashPoint.HelloSent or CrashPoint.RecordWritten;
        Assert.That(handled, Is.LessThanOrEqualTo(isUnseen ? 0 : 1));
        Assert.That(OpenClient().Unary(Payloads.Of("other")).Text(), Is.EqualTo("other"));
    }

    [Test]
    public async Task StreamWriter_DiesBeforeItsBytesAreVisible_TheReaderSeesTheEnd()
    {
        await using var listener = new ShmStreamListener(
            Address, new ShmStreamListenerOptions { Listen = { RuntimeDirectory = Directory.Option } });
        listener.Start();
        PeerProcess peer = await StartPeerAsync("--crash-at", CrashPoint.RecordWritten);
        await peer.DoAsync($"stream-connect {Address} {Directory.Word}");
        await using ShmStream stream = await listener.AcceptAsync().Bounded();

        await peer.SendAsync("stream-write 100");
        await AssertKilledAsync(peer);

        Assert.That(async () => await stream.ReadAsync(new byte[100]).Bounded(), Throws.InstanceOf<IOException>());
    }

    private static async Task<(RpcException Failure, int Answered)> CallUntilItFailsAsync(
        ScriptClient client, PeerProcess peer)
    {
        for (int answered = 0; ; answered++)
        {
            try
            {
                await Timeouts.OnThread(() => client.Unary(Payloads.Of("first"))).Bounded();

                // An idle peer dies; further calls could keep it from becoming idle.
                await AssertKilledAsync(peer);
            }
            catch (RpcException exception)
            {
                return (exception, answered);
            }
        }
    }

    private static async Task AssertKilledAsync(PeerProcess peer)
    {
        await peer.Exited.Bounded();
        Assert.That(peer.WasKilled, peer.Errors);
    }

    private static bool Answers(ScriptClient client, string text)
    {
        try
        {
            return client.Unary(Payloads.Of(text)).Text() == text;
        }
        catch (RpcException exception) when (exception.StatusCode == StatusCode.Unavailable)
        {
            return false;
        }
    }
}
