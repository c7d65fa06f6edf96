using System.Globalization;
using Microsoft.Extensions.DependencyInjection;
using Microsoft.Extensions.Diagnostics.HealthChecks;
using Microsoft.Extensions.Hosting;
using RpcOverShm.Hosting;

namespace RpcOverShm.Samples;

/// <summary>
/// Calls a worker from a host of its own, while the worker is stopped as systemd stops it, and while it is killed and
/// started again.
/// </summary>
internal static class Demonstration
{
    private const int CallsBefore = 200;

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

    /// <summary>SIGTERM under load: no call fails, and each one is served once, by one of two workers.</summary>
    private static async Task<bool> DrainAsync(
        string address, Greeter.GreeterClient client, HealthCheckService health)
    {
        using WorkerProcess worker = await WorkerProcess.StartAsync(address);
        HealthReport report = await health.CheckHealthAsync();
        var load = new Load(client);
        await load.UntilAsync(CallsBefore);

        // The worker ends the calls that run. Those that it refuses go to the next worker.
        (int exitCode, string line) = await worker.StopAsync();
        using WorkerProcess next = await WorkerProcess.StartAsync(address);
        await load.UntilAsync(CallsBefore);
        await load.StopAsync();
        (_, string nextLine) = await next.StopAsync();

        int served = int.Parse(line, CultureInfo.InvariantCulture) + int.Parse(nextLine, CultureInfo.InvariantCulture);
        Console.WriteLine($"{report.Status}; SIGTERM: exit code {exitCode}; {served} calls served; {Text(load)}");
        return report.Status == HealthStatus.Healthy
            && exitCode == 0
            && served == load.Succeeded
            && HasOnly(load, StatusCode.OK);
    }

    /// <summary>kill -9 and a restart under load: calls fail in between, with Unavailable and nothing else.</summary>
    private static async Task<bool> KillAsync(string address, Greeter.GreeterClient client)
    {
        using WorkerProcess worker = await WorkerProcess.StartAsync(address);
        var load = new Load(client);
        await load.UntilAsync(CallsBefore);
        await worker.KillAsync();

        using WorkerProcess next = await WorkerProcess.StartAsync(address);
        await load.UntilAsync(CallsBefore);
        await load.StopAsync();
        (int exitCode, _) = await next.StopAsync();

        Console.WriteLine($"kill -9: {Text(load)}");
        return exitCode == 0 && HasOnly(load, StatusCode.OK, StatusCode.Unavailable);
    }

    private static bool HasOnly(Load load, params StatusCode[] allowed) => load.Ends.Keys.All(allowed.Contains);

    private static string Text(Load load) => string.Join(
        ", ", load.Ends.OrderBy(one => one.Key).Select(one => $"{one.Value} {one.Key}"));
}
