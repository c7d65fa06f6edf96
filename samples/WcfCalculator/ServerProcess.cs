using System.Diagnostics;
using Grpc.Core;
using Microsoft.Extensions.Logging;

namespace RpcOverShm.Samples;

/// <summary>The server process: a second instance of this program, which stops when its input is closed.</summary>
internal static class ServerProcess
{
    private const string ReadyLine = "ready";

    public static async Task<Process> StartAsync(string address)
    {
        var start = new ProcessStartInfo(Environment.ProcessPath!, ["serve", address])
        {
            RedirectStandardInput = true,
            RedirectStandardOutput = true,
        };
        Process process = Process.Start(start) ?? throw new InvalidOperationException("The server did not start.");
        string? line = await process.StandardOutput.ReadLineAsync();
        return line == ReadyLine
            ? process
            : throw new InvalidOperationException($"The server said '{line}' instead of '{ReadyLine}'.");
    }

    public static async Task<int> RunAsync(string address)
    {
        // Standard output is for the line that says that the server is ready.
        using ILoggerFactory loggers = LoggerFactory.Create(logging => logging.AddConsole(
            console => console.LogToStandardErrorThreshold = LogLevel.Trace));

        // snippet: host
        // WCF: [ServiceBehavior(InstanceContextMode = PerSession)]. One call at a time and in order are its defaults.
        await using var server = new ShmServer(address, new ShmServerOptions { LoggerFactory = loggers });
        server.Services.Add(
            context => new CalculatorService(context.Session!),
            new ShmServiceOptions
            {
                Lifetime = ShmServiceLifetime.PerSession,
                MaxConcurrentCallsPerInstance = 1,
                EnableOrderedDispatch = true,
            });
        // end snippet
        await server.StartAsync();
        Console.WriteLine(ReadyLine);

        // The input is a pipe from the client process, so it ends when the client closes it or dies.
        await Console.In.ReadToEndAsync();
        await server.StopAsync(grace: TimeSpan.FromSeconds(1));
        return 0;
    }

    /// <summary>Reports the failure of a one-way call, whose caller has gone on.</summary>
    public static void Report(IMethod method, Status status) =>
        Console.Error.WriteLine($"{method.FullName} failed: {status}");
}
