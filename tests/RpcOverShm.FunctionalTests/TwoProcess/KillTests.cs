using System.Diagnostics;
using System.Globalization;
using RpcOverShm.Diagnostics;

namespace RpcOverShm.FunctionalTests.TwoProcess;

/// <summary>
/// Clients or servers are killed, in a handshake and during calls of each shape. The other side, this process, then has
/// what it had before: nothing of the system is left of a kill.
/// </summary>
[OneMode]
internal sealed class KillTests : PeerFixture
{
    private const int Callers = 2;
    private const int CallsBefore = 20;
    private const int ConnectionsBefore = 3;

    private static readonly TimeSpan s_longestLinger = TimeSpan.FromSeconds(20);

    private int _begun; // methods

    [TestCase(10)]
    [TestCase(100, Category = LongAttribute.Name)]
    [HangBound(900)]
    public async Task Server_WhoseClientsWereKilled_HoldsWhatItHeldBefore(int kills)
    {
        ShmServer server = await ServeAsync(HoldingScript());
        Log.Expect(301);
        Func<Task>[] moments =
        [
            .. HeldCalls.Shapes.Select<string, Func<Task>>(shape => () => KillClientAsync($"hold {shape}", calls: 1)),
            () => KillClientAsync($"mix {Callers} 1", CallsBefore),
            () => KillClientAsync($"reconnect {Address} {Directory.Word}", ConnectionsBefore),
            KillGreetingClientAsync,
        ];
        await AssertLeavesNothingAsync(kills, moments, () => server.Running!.Connections.Count == 0);
    }

    [TestCase(10)]
    [TestCase(100, Category = LongAttribute.Name)]
    [HangBound(900)]
    public Task Client_WhoseServersWereKilled_HoldsWhatItHeldBefore(int kills)
    {
        Func<Task>[] moments =
        [
            .. HeldCalls.Shapes.Select<string, Func<Task>>(shape => () => KillServerAsync(
                [], async (client, peer) => await HeldCalls.StartAsync(client, shape, peer))),
            () => KillServerAsync([], StartMixAsync),
            () => KillServerAsync([], (_, _) => StartReconnectsAsync()),
            () => KillServerAsync(
                ["--crash-at", CrashPoint.HelloReceived], (client, _) => Task.FromResult<Task>(
                    client.UnaryAsync(Payloads.Empty).ResponseAsync)),
        ];
        return AssertLeavesNothingAsync(kills, moments, static () => true);
    }

    /// <summary>Kills in each moment once, and then so often, in turn.</summary>
    private static async Task AssertLeavesNothingAsync(int kills, Func<Task>[] moments, Func<bool> isOver)
    {
        foreach (Func<Task> kill in moments)
        {
            await kill();
        }

        await Timeouts.Eventually(isOver);
        await ProcessFacts.NoneAsync();
        Holdings before = Holdings.AfterCollection();
        long begun = Stopwatch.GetTimestamp();
        for (int i = 0; i < kills; i++)
        {
            await moments[i % moments.Length]();
        }

        TimeSpan taken = Stopwatch.GetElapsedTime(begun);
        await Timeouts.Eventually(isOver);
        await ProcessFacts.NoneAsync();
        Holdings after = await SettledAsync(kills, before);
        TestContext.Progress.WriteLine(string.Create(
            CultureInfo.InvariantCulture,
            $"{TestContext.CurrentContext.Test.Name}: {taken.TotalSeconds:0} s; {after.Describe(before)}"));
        Assert.That(after.LeftBy(kills, before), Is.Empty, after.Describe(before));
    }

    // Loops and pipes that nobody uses any more stay for some seconds.
    private static async Task<Holdings> SettledAsync(int kills, Holdings before)
    {
        long begun = Stopwatch.GetTimestamp();
        Holdings now;
        do
        {
            now = Holdings.AfterCollection();
        }
        while (now.LeftBy(kills, before).Length > 0 && Stopwatch.GetElapsedTime(begun) < s_longestLinger);
        return now;
    }

    private async Task KillClientAsync(string command, int calls)
    {
        PeerProcess peer = await StartCallingPeerAsync();
        int before = Volatile.Read(ref _begun);
        await peer.DoAsync(command);
        await Timeouts.Eventually(() => Volatile.Read(ref _begun) >= before + calls);
        peer.Kill();
        await EndAsync(peer);
    }

    // It kills itself.
    private async Task KillGreetingClientAsync()
    {
        PeerProcess peer = await StartCallingPeerAsync("--crash-at", CrashPoint.HelloSent);
        await peer.SendAsync("echo 10");
        await peer.Exited.Bounded();
        Assert.That(peer.WasKilled, peer.Errors);
        await EndAsync(peer);
    }

    /// <summary>Kills a server after something has started, whose task must then end with Unavailable.</summary>
    private async Task KillServerAsync(string[] arguments, Func<ScriptClient, PeerProcess, Task<Task>> start)
    {
        PeerProcess peer = await StartServingPeerAsync(arguments);
        await using (ShmChannel channel = OpenChannel())
        {
            Task call = await start(new ScriptClient(channel.CreateCallInvoker()), peer);
            if (arguments.Length == 0)
            {
                peer.Kill();
            }

            RpcException failure = await CallFailure.OfAsync(call);
            Assert.That(failure.StatusCode, Is.EqualTo(StatusCode.Unavailable), failure.Status.Detail);
            await peer.Exited.Bounded();
            Assert.That(peer.WasKilled, peer.Errors);
        }

        await EndAsync(peer);
    }

    // Calls of all shapes, of which many have ended already.
    private static async Task<Task> StartMixAsync(ScriptClient client, PeerProcess peer)
    {
        int ended = 0;
        Task[] callers = [.. Enumerable.Range(0, Callers).Select(seed => Task.Run(async () =>
        {
            var random = new Random(seed);
            while (true)
            {
                Assert.That(await Shapes.RunRandomAsync(client, random));
                Interlocked.Increment(ref ended);
            }
        }))];
        await Timeouts.Eventually(() => Volatile.Read(ref ended) >= CallsBefore);
        return Task.WhenAll(callers);
    }

    // Connections that are opened and closed again, of which some have ended already.
    private async Task<Task> StartReconnectsAsync()
    {
        int ended = 0;
        Task reconnects = Task.Run(async () =>
        {
            while (true)
            {
                await using ShmChannel channel = OpenChannel();
                await new ScriptClient(channel.CreateCallInvoker()).UnaryAsync(Payloads.Empty);
                Interlocked.Increment(ref ended);
            }
        });
        await Timeouts.Eventually(() => Volatile.Read(ref ended) >= ConnectionsBefore);
        return reconnects;
    }

    // Its methods hold a call whose request says so, and answer others.
    private Script HoldingScript()
    {
        var echo = new Script();
        return new Script
        {
            Unary = async (request, context) =>
            {
                Interlocked.Increment(ref _begun);
                await HoldAsync(request, context);
                return request;
            },
            ClientStream = (requests, context) =>
            {
                Interlocked.Increment(ref _begun);
                return echo.ClientStream(requests, context);
            },
            ServerStream = async (request, responses, context) =>
            {
                Interlocked.Increment(ref _begun);
                await responses.WriteAsync(request);
                await HoldAsync(request, context);
            },
            Duplex = (requests, responses, context) =>
            {
                Interlocked.Increment(ref _begun);
                return echo.Duplex(requests, responses, context);
            },
        };
    }

    private static Task HoldAsync(Payload request, ServerCallContext context) => request.Text() == "hold"
        ? Task.Delay(Timeout.Infinite, context.CancellationToken)
        : Task.CompletedTask;
}
