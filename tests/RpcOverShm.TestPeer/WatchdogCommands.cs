using System.Diagnostics;
using System.Globalization;
using RpcOverShm.Diagnostics;
using RpcOverShm.Scheduling;
using RpcOverShm.Testing;

namespace RpcOverShm.TestPeer;

/// <summary>The watchdog of this process with many connections, and without a thread.</summary>
internal static class WatchdogCommands
{
    private const int RoundsToWarmUp = 10;
    private const int RoundsCounted = 30;

    private static readonly TimeSpan s_round = TimeSpan.FromMilliseconds(100);

    /// <summary>
    /// Calls a method that uses the processor for some microseconds, ten times a second on each connection. The reply
    /// is the number of take-overs, of the watchdog's checks, and the milliseconds that were counted.
    /// </summary>
    public static async Task<string> CountAsync(string? directory, int connections, int microseconds)
    {
        const string Address = "shm://crowd";
        await using var server = new ShmServer(Address, new ShmServerOptions
        {
            Listen = { RuntimeDirectory = directory },
        });
        server.Services.Add(new Script { Unary = (request, _) => Use(microseconds, request) }.Build());
        await server.StartAsync();
        var options = new ShmChannelOptions { Connect = { RuntimeDirectory = directory } };
        ShmChannel[] channels =
            [.. Enumerable.Range(0, connections).Select(_ => ShmChannel.ForAddress(Address, options))];
        ScriptClient[] clients = [.. channels.Select(channel => new ScriptClient(channel.CreateCallInvoker()))];
        await RunRoundsAsync(clients, RoundsToWarmUp);

        long takeOvers = TakeOvers(server);
        long checks = Watchdog.Checks;
        long begun = Stopwatch.GetTimestamp();
        await RunRoundsAsync(clients, RoundsCounted);

        double milliseconds = Stopwatch.GetElapsedTime(begun).TotalMilliseconds;
        string reply = string.Create(
            CultureInfo.InvariantCulture,
            $"{TakeOvers(server) - takeOvers} {Watchdog.Checks - checks} {milliseconds:0}");
        foreach (ShmChannel channel in channels)
        {
            await channel.DisposeAsync();
        }

        return reply;
    }

    /// <summary>
    /// Makes calls while the system has no thread for the watchdog, and then while it has one again. The reply is
    /// "right" if all calls are answered, the last ones beside a method that blocks.
    /// </summary>
    public static async Task<string> WithoutThreadAsync(string? directory)
    {
        const string Address = "shm://watchless";
        int refused = 0;
        BackgroundThread.Refuses = name => name == "RpcOverShm watchdog" && Interlocked.Increment(ref refused) > 0;
        using var mayEnd = new SemaphoreSlim(0);
        await using var server = new ShmServer(Address, new ShmServerOptions
        {
            Listen = { RuntimeDirectory = directory },
        });
        server.Services.Add(new Script
        {
            Unary = (request, _) => request.Text() == "quick" || mayEnd.Wait(Timeouts.Wait)
                ? Task.FromResult(request)
                : throw new TimeoutException("The method was not released."),
        }.Build());
        await server.StartAsync();
        await using var channel = ShmChannel.ForAddress(
            Address, new ShmChannelOptions { Connect = { RuntimeDirectory = directory } });
        var client = new ScriptClient(channel.CreateCallInvoker());
        await client.UnaryAsync(Payloads.Of("quick")).ResponseAsync.Bounded();

        // Nobody reads beside this method until it ends.
        Task blocked = client.UnaryAsync(Payloads.Of("blocks")).ResponseAsync;
        Task behind = client.UnaryAsync(Payloads.Of("quick")).ResponseAsync;
        mayEnd.Release();
        await Task.WhenAll(blocked, behind).Bounded();
        bool wasWatched = Watchdog.Checks > 0;

        BackgroundThread.Refuses = null;
        while (Watchdog.Checks == 0)
        {
            await client.UnaryAsync(Payloads.Of("quick")).ResponseAsync.Bounded();
        }

        blocked = client.UnaryAsync(Payloads.Of("blocks")).ResponseAsync;
        await client.UnaryAsync(Payloads.Of("quick")).ResponseAsync.Bounded();
        bool isBlocked = !blocked.IsCompleted;
        mayEnd.Release();
        await blocked.Bounded();
        return refused > 0 && !wasWatched && isBlocked
            ? "right"
            : $"refused {refused} times, was watched: {wasWatched}, is blocked: {isBlocked}";
    }

    private static async Task RunRoundsAsync(ScriptClient[] clients, int rounds)
    {
        using var timer = new PeriodicTimer(s_round);
        for (int i = 0; i < rounds; i++)
        {
            await Task.WhenAll(clients.Select(client => client.UnaryAsync(Payloads.Of("call")).ResponseAsync));
            await timer.WaitForNextTickAsync();
        }
    }

    private static Task<T> Use<T>(int microseconds, T result)
    {
        long end = ThreadClock.Now + (microseconds * ThreadClock.TicksPerMicrosecond);
        while (ThreadClock.Now < end)
        {
            Thread.SpinWait(20);
        }

        return Task.FromResult(result);
    }

    private static long TakeOvers(ShmServer server) =>
        server.Running!.Connections.Sum(served => served.Connection.TakeOvers);
}
