using RpcOverShm.MessagePack;

namespace RpcOverShm.Samples;

/// <summary>The server's process: the service at one address, a byte stream that echoes at another.</summary>
internal static class TickerServer
{
    /// <summary>What the server prints when clients may come.</summary>
    public const string ReadyLine = "ready";

    public static string RawAddress(string address) => address + "/raw";

    public static async Task<int> RunAsync(string address)
    {
        // Besides Protobuf, which every client may use.
        var options = new ShmServerOptions { Codecs = { ShmMessagePackCodec.Instance, ShmRawCodec.Instance } };
        await using var server = new ShmServer(address, options);
        server.Services.Add(Ticker.BindService(new TickerService()));
        server.Services.Add(RawService.Build());
        await server.StartAsync();

        await using var listener = new ShmStreamListener(RawAddress(address));
        listener.Start();
        Task echoing = EchoAsync(listener);
        Console.WriteLine(ReadyLine);

        // The client holds the other end of this process's input: its end is the client's, however it comes.
        await Console.In.ReadToEndAsync();
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
            // Nobody came, or the client has gone: there is nothing to echo.
        }
    }
}
