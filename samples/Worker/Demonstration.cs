using System.Globalization;
using Microsoft.Extensions.DependencyInjection;
using Microsoft.Extensions.Diagnostics.HealthChecks;
using Microsoft.Extensions.Hosting;

namespace RpcOverShm.Samples;

/// <summary>
/// Calls a worker from a host of its own, while the worker is stopped as systemd stops it, and while it is killed and
/// started again.
/// </summary>
internal static class Demonstration
{
    private const int CallsBefore = 200;
    private const int MostPrinted = 20;

    /// <summary>Returns 0 if every stop and failure is as promised.</summary>
    public static async Task<int> RunAsync()
    {
        string address = $"shm://worker-{Environment.ProcessId}";

        // snippet: client
        var builder = Host.CreateApplicationBuilder(
            new HostApplicationBuilderSettings { ContentRootPath = AppContext.BaseDirectory });
        builder.Services.AddShmClient<Greeter.GreeterClient>(address)
            .Bind(builder.Configuration.GetSection("Greeter:Client"));

        // Calls of this one wait for the next server, where others fail with Unavailable.
        builder.Services.AddShmClient<Greeter.GreeterClient>("patient", address)
            .Bind(builder.Configuration.GetSection("Greeter:Client"))
            .ConfigureCallOptions((options, _) => options.WithWaitForReady());
        builder.Services.AddHealthChecks().AddShmServer(address);
        // end snippet
        using IHost host = builder.Build();
        await host.StartAsync();

        bool isFine = await DrainAsync(
            address,
            host.Services.GetRequiredKeyedService<Greeter.GreeterClient>("patient"),
            host.Services.GetRequiredService<HealthCheckService>());
        isFine &= await KillAsync(address, host.Services.GetRequiredService<Greeter.GreeterClient>());
        await host.StopAsync();
        return isFine ? 0 : 1;
    }

    /// <summary>
    /// A stop under load, on Linux by SIGTERM: no call fails, and each one is served once, by one of two workers.
    /// </summary>
    private static async Task<bool> DrainAsync(
        string address, Greeter.GreeterClient client, HealthCheckService health)
    {
        using WorkerProcess worker = await WorkerProcess.StartAsync(address);
        HealthReport report = await health.CheckHealthAsync();
        var load = new Load(client);
        await load.UntilAsync(CallsBefore);

        // The worker ends the calls that run. Those that it refuses go to the next worker.
        load.Note("the stop");
        (int exitCode, string line) = await worker.StopAsync();
        load.Note("the end of the worker");
        using WorkerProcess next = await WorkerProcess.StartAsync(address);
        load.Note("the start of the next one");
        await load.UntilAsync(CallsBefore);
        await load.StopAsync();
        (_, string nextLine) = await next.StopAsync();

        int served = int.Parse(line, CultureInfo.InvariantCulture) + int.Parse(nextLine, CultureInfo.InvariantCulture);
        Console.WriteLine($"{report.Status}; stop: exit code {exitCode}; {served} calls served; {Text(load)}");
        return EndAsTheyMay(load, _ => false)
            && report.Status == HealthStatus.Healthy
            && exitCode == 0
            && served == load.Succeeded;
    }

    /// <summary>
    /// A kill and a restart under load: calls fail within the outage, with Unavailable, and nothing else fails.
    /// </summary>
    private static async Task<bool> KillAsync(string address, Greeter.GreeterClient client)
    {
        using WorkerProcess worker = await WorkerProcess.StartAsync(address);
        var load = new Load(client);
        await load.UntilAsync(CallsBefore);
        long killed = load.Note("the kill");
        await worker.KillAsync();
        long gone = load.Note("the end of the worker");

        using WorkerProcess next = await WorkerProcess.StartAsync(address);
        long ready = load.Note("the start of the next one");
        await load.UntilAsync(CallsBefore);
        await load.StopAsync();
        (int exitCode, _) = await next.StopAsync();

        long over = load.Calls.Where(call => call.IsOk && call.Began > gone).Min(call => call.Ended);
        var outage = new Outage(killed, gone, ready, over);
        Console.WriteLine($"kill: {Text(load)}; {outage.Describe(load.Calls)}");
        return EndAsTheyMay(load, outage.MayFail) && exitCode == 0;
    }

    /// <summary>Prints the failures that may not be, and returns whether there are none.</summary>
    private static bool EndAsTheyMay(Load load, Func<EndedCall, bool> mayFail)
    {
        EndedCall[] others = [.. load.Calls.Where(call => !call.IsOk && !mayFail(call))];
        foreach (EndedCall call in others.Take(MostPrinted))
        {
            Console.WriteLine($"  may not fail: {load.Describe(call)}");
        }

        return others.Length == 0;
    }

    private static string Text(Load load) => string.Join(
        ", ",
        load.Calls.CountBy(call => call.Status.StatusCode).OrderBy(one => one.Key)
            .Select(one => $"{one.Value} {one.Key}"));
}
