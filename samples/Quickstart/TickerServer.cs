using System.Runtime;
using RpcOverShm.MessagePack;

namespace RpcOverShm.Samples;

/// <summary>
/// The server process: serves calls at one address, and echoes a byte stream and named pipes at others.
/// </summary>
internal static class TickerServer
{
    /// <summary>The line that the server prints when it accepts clients.</summary>
    public const string ReadyLine = "ready";

    public static string RawAddress(string address) => address + "/raw";

    public static string PipeName(string address) => new Uri(address).Host;

    public static async Task<int> RunAsync(string address)
    {
        // Protobuf is always offered.
        var options = new ShmServerOptions { Codecs = { ShmMessagePackCodec.Instance, ShmRawCodec.Instance } };
        await using var server = new ShmServer(address, options);
        server.Services.Add(Ticker.BindService(new TickerService()));
        server.Services.Add(RawService.Build());
        await server.StartAsync();

        await using var listener = new ShmStreamListener(RawAddress(address));
        listener.Start();
        Task echoing = EchoAsync(listener);
        PipeEcho.Start(PipeName(address));
        Console.WriteLine(ReadyLine);

        // The input is a pipe from the client process, so it ends when the client closes it or dies. Each line asks how
        // many methods the compiler has compiled here.
        while (await Console.In.ReadLineAsync() is not null)
        {
            Console.WriteLine(JitInfo.GetCompiledMethodCount());
        }

        await server.StopAsync(grace: TimeSpan.FromSeconds(1));
        await listener.DisposeAsync();
        await echoing;
        return 0;
    }

    private static async Task EchoAsync(ShmStreamListener listener)
    {
        try
        {
            await using ShmStream stream = await listener.AcceptAsync();
            await stream.CopyToAsync(stream);
        }
        catch (Exception exception) when (exception is ObjectDisposedException or IOException)
        {
            // No client has connected, or the client is gone: there is nothing to echo.
        }
    }
}
