using RpcOverShm.Testing;
using RpcOverShm.Testing.Protos;

namespace RpcOverShm.TestPeer;

/// <summary>The commands of a server. The start and the end of each handler are events.</summary>
internal sealed class ServeCommands : IAsyncDisposable
{
    private ShmServer? _server;

    public async Task<string> ServeAsync(string address, string directory)
    {
        var server = new ShmServer(address, new ShmServerOptions
        {
            RuntimeDirectory = directory,
            MaxReceiveMessageSize = null,
        });
        var script = new Script
        {
            Unary = async (request, context) =>
            {
                if (request.Text() != "hold")
                {
                    return request;
                }

                PeerCommands.Emit("holding");
                await Task.Delay(Timeout.Infinite, context.CancellationToken);
                return request;
            },
            ServerStream = async (request, responses, context) =>
            {
                await responses.WriteAsync(request);
                if (request.Text() == "hold")
                {
                    await Task.Delay(Timeout.Infinite, context.CancellationToken);
                }
            },
        };
        server.Services.Add(script.Build());
        server.Services.Add(Conformance.BindService(new ConformanceService()));
        try
        {
            await server.StartAsync();
        }
        catch
        {
            await server.DisposeAsync();
            throw;
        }

        _server = server;
        return "";
    }

    public async Task<string> StopAsync(int graceMilliseconds)
    {
        await _server!.StopAsync(TimeSpan.FromMilliseconds(graceMilliseconds));
        return "";
    }

    public async ValueTask DisposeAsync()
    {
        if (_server is not null)
        {
            await _server.DisposeAsync();
        }
    }
}
