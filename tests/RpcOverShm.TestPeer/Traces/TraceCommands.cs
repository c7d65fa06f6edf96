using RpcOverShm.Testing;

namespace RpcOverShm.TestPeer.Traces;

/// <summary>The two sides of blocking calls whose methods a <see cref="MethodTrace"/> notes.</summary>
internal sealed class TraceCommands : IAsyncDisposable
{
    private const int Bytes = 100;

    private ShmServer? _server;
    private ShmChannel? _channel;

    /// <summary>Starts a server without options, with a method that separates the calls.</summary>
    public async Task<string> ServeAsync(string address, string directory)
    {
        _server = new ShmServer(address, new ShmServerOptions { Listen = { RuntimeDirectory = directory } });
        _server.Services.Add(new Script
        {
            Unary = (request, _) =>
            {
                MethodTrace.Separate();
                return Task.FromResult(request);
            },
        }.Build());
        await _server.StartAsync();
        return "";
    }

    /// <summary>Makes calls one after another, and separates them.</summary>
    public Task<string> CallAsync(string address, string directory, int calls)
    {
        _channel ??= ShmChannel.ForAddress(
            address, new ShmChannelOptions { Connect = { RuntimeDirectory = directory } });
        var client = new ScriptClient(_channel.CreateCallInvoker());
        for (int i = 0; i < calls; i++)
        {
            MethodTrace.Separate();
            client.Unary(Payloads.OfSize(Bytes));
        }

        return Task.FromResult("");
    }

    public static Task<string> StartAsync()
    {
        MethodTrace.Start();
        return Task.FromResult("");
    }

    public static Task<string> WriteAsync(string path)
    {
        MethodTrace.Write(path);
        return Task.FromResult("");
    }

    public async ValueTask DisposeAsync()
    {
        if (_channel is not null)
        {
            await _channel.DisposeAsync();
        }

        if (_server is not null)
        {
            await _server.DisposeAsync();
        }
    }
}
