using Microsoft.Extensions.Logging;
using Microsoft.Extensions.Logging.Abstractions;

namespace RpcOverShm.Samples;

/// <summary>The code of docs/migrating-from-wcf.md: time-outs of a channel, of methods and of idle sessions.</summary>
internal static class MigratingFromWcfTimeouts
{
    public static async Task RunAsync(string address)
    {
        ILoggerFactory loggers = NullLoggerFactory.Instance;

        // snippet: receive-timeout
        // WCF: binding.ReceiveTimeout of the service. An idle client leaves, and connects again with its next call.
        var serverOptions = new ShmServerOptions { LoggerFactory = loggers, IdleTimeout = TimeSpan.FromMinutes(10) };
        // end snippet
        await using var server = new ShmServer(address, serverOptions);
        server.Services.Add(Greeter.BindService(new SnippetService()));
        await server.StartAsync();

        // snippet: default-timeout
        // WCF: binding.SendTimeout. Methods without an end in sight, such as watches, are exempt.
        var watches = new ShmMethodConfig
        {
            Names = { new ShmMethodName { Service = "rpcovershm.samples.Ticker", Method = "Watch" } },
            Timeout = Timeout.InfiniteTimeSpan,
        };
        var options = new ShmChannelOptions
        {
            DefaultTimeout = TimeSpan.FromMinutes(1),
            ServiceConfig = new ShmServiceConfig { MethodConfigs = { watches } },
        };
        using ShmChannel channel = ShmChannel.ForAddress(address, options);
        // end snippet
        HelloReply reply = await new Greeter.GreeterClient(channel).SayHelloAsync(new HelloRequest { Name = "all" });
        Expect.Equal("Hello all", reply.Message);
    }
}
