using Grpc.Core;
using RpcOverShm.Testing;
using RpcOverShm.Testing.Protos;

namespace RpcOverShm.TestPeer;

/// <summary>The commands of a server. The start and the end of each handler are events.</summary>
internal sealed class ServeCommands : IAsyncDisposable
{
    private static readonly Payload s_largeAnswer = Payloads.OfSize(16 << 20);

    private ShmServer? _server;

    public async Task<string> ServeAsync(string address, string directory, string[] users, string[] groups)
    {
        var options = new ShmServerOptions
        {
            RuntimeDirectory = directory,
            MaxReceiveMessageSize = null,
            MaxConnectionBufferSize = 128 << 20, // as by default, although messages have no limit
            AllowedGroup = groups.SingleOrDefault(),
        };
        Array.ForEach(users, options.AllowedUsers.Add);
        var server = new ShmServer(address, options);
        var script = new Script
        {
            Unary = UnaryAsync,
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

    // "hold" runs until it is cancelled, and says that it has begun; "rest" says nothing; "answer" has a large answer.
    private static async Task<Payload> UnaryAsync(Payload request, ServerCallContext context)
    {
        string text = request.Text();
        if (text == "answer")
        {
            return s_largeAnswer;
        }

        if (text == "hold")
        {
            PeerCommands.Emit("holding");
        }

        if (text == "hold" || text.StartsWith("rest", StringComparison.Ordinal))
        {
            await Task.Delay(Timeout.Infinite, context.CancellationToken);
        }

        return request;
    }
}
