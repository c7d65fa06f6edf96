using System.Diagnostics;
using System.Globalization;
using RpcOverShm.Scheduling;
using RpcOverShm.Testing;

namespace RpcOverShm.TestPeer;

/// <summary>A server with many connections of this process, to count what the watchdog does with them.</summary>
internal static class CrowdCommands
{
    private const int RoundsToWarmUp = 10;
    private const int RoundsCounted = 30;

    private static readonly TimeSpan s_round = TimeSpan.FromMilliseconds(100);

    /// <summary>
    /// Calls a method that uses the processor for some microseconds, ten times a second on each connection. The reply
    /// is the number of take-overs, of the watchdog's checks, and the milliseconds that were counted.
    /// </summary>
    public static async Task<string> CountAsync(string directory, int connections, int microseconds)
    {
        const string Address = "shm://crowd";
        await using var server = new ShmServer(Address, new ShmServerOptions { RuntimeDirectory = directory });
        server.Services.Add(new Script { Unary = (request, _) => Use(microseconds, request) }.Build());
        await server.StartAsync();
        var options = new ShmChannelOptions { RuntimeDirectory = directory };
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
