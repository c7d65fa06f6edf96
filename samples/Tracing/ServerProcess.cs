using System.Diagnostics;
using Google.Protobuf.WellKnownTypes;
using Grpc.Core;

namespace RpcOverShm.Samples;

/// <summary>The server process: a second instance of this program, which stops when its input is closed.</summary>
internal static class ServerProcess
{
    private const string ReadyLine = "ready";

    public static async Task<Process> StartAsync(string address, string exportTo)
    {
        var start = new ProcessStartInfo(Environment.ProcessPath!, ["serve", address, exportTo])
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

    public static async Task<int> RunAsync(string address, string exportTo)
    {
        using var telemetry = new Telemetry("server", exportTo);
        await using var server = new ShmServer(address);
        server.Services.Add(CalculatorDuplex.BindService(new Adder()));
        await server.StartAsync();
        Console.WriteLine(ReadyLine);

        // The input is a pipe from the client process, so it ends when the client closes it or dies.
        await Console.In.ReadToEndAsync();
        await server.StopAsync(grace: TimeSpan.FromSeconds(1));
        return 0;
    }

    /// <summary>Adds, and calls its client back with the total before it answers.</summary>
    private sealed class Adder : CalculatorDuplex.CalculatorDuplexBase
    {
        private double _total;

        public override Task<Empty> AddTo(Operand request, ServerCallContext context)
        {
            _total += request.N;
            var client = new CalculatorDuplexCallback.CalculatorDuplexCallbackClient(
                context.GetShmSession().CreateCallInvoker());
            client.Result(new Total { Result = _total });
            return Task.FromResult(new Empty());
        }
    }
}
