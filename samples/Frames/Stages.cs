using System.Diagnostics;
using System.Globalization;
using Grpc.Core;

namespace RpcOverShm.Samples;

/// <summary>The method, the options and the processes of the pipeline's stages.</summary>
internal static class Stages
{
    private const string NumberKey = "frame-number";
    private const string ReadyLine = "ready";

    private static readonly TimeSpan s_longestStart = TimeSpan.FromSeconds(30);

    /// <summary>The method of each stage. The answer is empty, and comes when the frame is through the rest.</summary>
    // snippet: method
    public static Method<ShmPayload, ShmPayload> Show { get; } = new(
        MethodType.Unary, "rpcovershm.samples.Stage", "Show", ShmPayload.Marshaller, ShmPayload.Marshaller);
    // end snippet

    // snippet: options
    public static ShmChannelOptions Options(bool lends) => new()
    {
        MaxReceiveMessageSize = null,
        Loans = { AllowLoanedPayloads = lends },
    };
    // end snippet

    public static CallOptions Numbered(int number) =>
        new(new Metadata { { NumberKey, number.ToString(CultureInfo.InvariantCulture) } });

    public static int NumberOf(ServerCallContext context) =>
        int.Parse(context.RequestHeaders.GetValue(NumberKey)!, CultureInfo.InvariantCulture);

    /// <summary>Starts a process of this program, and waits until it listens.</summary>
    public static async Task<Process> StartAsync(params string[] arguments)
    {
        var start = new ProcessStartInfo(Environment.ProcessPath!, arguments)
        {
            RedirectStandardInput = true,
            RedirectStandardOutput = true,
        };
        Process process = Process.Start(start) ?? throw new InvalidOperationException("A stage did not start.");
        string? line = await process.StandardOutput.ReadLineAsync().WaitAsync(s_longestStart);
        return line == ReadyLine
            ? process
            : throw new InvalidOperationException($"A stage said '{line}' instead of '{ReadyLine}'.");
    }

    /// <summary>Stops a process by the end of its input.</summary>
    public static async Task StopAsync(Process process)
    {
        process.StandardInput.Close();
        await process.WaitForExitAsync().WaitAsync(s_longestStart);
    }

    /// <summary>Serves a stage until the input ends, which it also does when the camera dies.</summary>
    public static async Task<int> RunAsync(string address, bool lends, Func<IStage> make)
    {
        using IStage stage = make();
        var options = new ShmServerOptions
        {
            MaxReceiveMessageSize = null,
            Loans = { AllowLoanedPayloads = lends },
        };
        await using var server = new ShmServer(address, options);
        server.Services.Add(ServerServiceDefinition.CreateBuilder().AddMethod(Show, stage.ShowAsync).Build());
        await server.StartAsync();
        Console.WriteLine(ReadyLine);
        await Console.In.ReadToEndAsync();
        await server.StopAsync();
        return 0;
    }
}
