using RpcOverShm.MessagePack;

namespace RpcOverShm.Samples;

/// <summary>The client process: makes calls of every shape with every codec.</summary>
internal static class Demonstration
{
    /// <summary>Runs all calls. Returns the exit code: 0 if all results were as expected.</summary>
    /// <param name="serverCommand">The command that runs the server's program.</param>
    public static async Task<int> RunAsync(string[] serverCommand)
    {
        string address = $"shm://quickstart-{Environment.ProcessId}";
        await using ServerProcess server = await ServerProcess.StartAsync(serverCommand, address);
        Console.WriteLine($"client: process {Environment.ProcessId}");
        Console.WriteLine($"server: process {server.Process.Id}, at {address}");
        Console.WriteLine();

        var report = new Report();
        using ShmChannel channel = ShmChannel.ForAddress(address);
        using ShmChannel packed = ShmChannel.ForAddress(
            address, new ShmChannelOptions { Codec = ShmMessagePackCodec.Instance });
        using ShmChannel raw = ShmChannel.ForAddress(
            address, new ShmChannelOptions { Codec = ShmRawCodec.Instance });
        var generated = new GeneratedCalls(channel);
        var inMessagePack = new GeneratedCalls(packed);
        var bytes = new RawCalls(raw);
        using var pipes = new PipeCalls(TickerServer.PipeName(address));

        Report.ShowColdHead();
        await generated.ShowAsync(report, "proto");
        await inMessagePack.ShowAsync(report, "msgpack");
        await bytes.ShowAsync(report, "raw");
        await new EndsOfCalls(channel).ShowAsync(report, "proto");
        await RawStream.ShowAsync(report, TickerServer.RawAddress(address));
        await pipes.ShowAsync(report);

        await report.ShowWarmAsync(server);

        int exitCode = await server.StopAsync();
        if (exitCode != 0)
        {
            report.Fail("server stopped", $"exit code {exitCode}");
        }

        return report.Failures == 0 ? 0 : 1;
    }
}
