using Microsoft.Extensions.Logging;
using Microsoft.Extensions.Logging.Abstractions;

namespace RpcOverShm.Samples;

/// <summary>The code of docs/migrating-from-grpc.md.</summary>
internal static class MigratingFromGrpc
{
    public static async Task RunAsync(string address)
    {
        ILoggerFactory loggers = NullLoggerFactory.Instance;

        // snippet: server
        // ASP.NET Core: builder.Services.AddGrpc(o => ...); app.MapGrpcService<GreeterService>();
        var options = new ShmServerOptions
        {
            LoggerFactory = loggers,
            MaxReceiveMessageSize = 4 * 1024 * 1024,
            EnableDetailedErrors = true,
        };
        await using var server = new ShmServer(address, options);
        server.Services.Add(Greeter.BindService(new PeerGreeter()));
        await server.StartAsync();
        // end snippet

        // snippet: retry
        var retry = new ShmMethodConfig
        {
            Names = { ShmMethodName.Default },
            RetryPolicy = new ShmRetryPolicy
            {
                MaxAttempts = 3,
                InitialBackoff = TimeSpan.FromMilliseconds(10),
                MaxBackoff = TimeSpan.FromSeconds(1),
                BackoffMultiplier = 2,
                RetryableStatusCodes = { StatusCode.Unavailable },
            },
        };
        var channelOptions = new ShmChannelOptions
        {
            ServiceConfig = new ShmServiceConfig { MethodConfigs = { retry } },
        };
        using ShmChannel channel = ShmChannel.ForAddress(address, channelOptions);
        // end snippet

        // snippet: wait-for-ready
        var client = new Greeter.GreeterClient(channel);
        var call = new CallOptions(deadline: DateTime.UtcNow.AddSeconds(30)).WithWaitForReady();
        HelloReply reply = await client.SayHelloAsync(new HelloRequest { Name = "grpc" }, call);
        // end snippet
        Expect.Equal($"{Environment.ProcessId}", reply.Message);
    }

    private sealed class PeerGreeter : Greeter.GreeterBase
    {
        // snippet: peer
        public override Task<HelloReply> SayHello(HelloRequest request, ServerCallContext context)
        {
            // ASP.NET Core: context.GetHttpContext().Connection and .User
            ShmSession caller = context.GetShmSession();
            return Task.FromResult(new HelloReply { Message = $"{caller.ProcessId}" });
        }
        // end snippet
    }
}
