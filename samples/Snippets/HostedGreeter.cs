using Microsoft.Extensions.Configuration;
using Microsoft.Extensions.DependencyInjection;
using Microsoft.Extensions.Hosting;

namespace RpcOverShm.Samples;

/// <summary>The code of docs/hosting.md.</summary>
internal static class HostedGreeter
{
    public static async Task RunAsync(string address)
    {
        var settings = new HostApplicationBuilderSettings { DisableDefaults = true };
        HostApplicationBuilder builder = Host.CreateEmptyApplicationBuilder(settings);
        builder.Configuration.AddInMemoryCollection([new("ShmServer:Limits:MaxConcurrentCalls", "64")]);

        // snippet: server
        builder.Services.AddSingleton<GreetingBook>();
        builder.Services.AddShmServer(address, options => options.EnableDetailedErrors = true)
            .Bind(builder.Configuration.GetSection("ShmServer"))
            .AddService<BookGreeter>(service => service.Lifetime = ShmServiceLifetime.PerSession)
            .AddHealth()
            .AddReflection();
        // end snippet

        // snippet: client
        builder.Services.AddShmClient<Greeter.GreeterClient>(address)
            .EnableCallContextPropagation(propagation => propagation.SuppressContextNotFoundErrors = true);
        builder.Services.AddHealthChecks().AddShmServer(address);
        // end snippet
        builder.Services.AddSingleton<GreetingNotifier>();

        builder.Configuration.AddInMemoryCollection([new("Greeter:Address", address)]);
        // snippet: address
        builder.Services.AddShmClient<Greeter.GreeterClient>(
            "configured", provider => provider.GetRequiredService<IConfiguration>()["Greeter:Address"]!);
        // end snippet
        using IHost host = builder.Build();
        await host.StartAsync();
        Greeter.GreeterClient client = host.Services.GetRequiredService<Greeter.GreeterClient>();
        Expect.Equal("Hello host, number 1", (await client.SayHelloAsync(new HelloRequest { Name = "host" })).Message);
        await host.Services.GetRequiredService<GreetingNotifier>().NotifyAsync("host");
        Greeter.GreeterClient configured =
            host.Services.GetRequiredKeyedService<Greeter.GreeterClient>("configured");
        await configured.SayHelloAsync(new HelloRequest { Name = "host" });
        await host.StopAsync();
    }

    // snippet: service
    /// <summary>A service with dependencies: the container makes an instance for each session.</summary>
    private sealed class BookGreeter(GreetingBook book) : Greeter.GreeterBase
    {
        public override Task<HelloReply> SayHello(HelloRequest request, ServerCallContext context) =>
            Task.FromResult(new HelloReply { Message = $"Hello {request.Name}, number {book.Next()}" });
    }
    // end snippet

    // snippet: channel
    /// <summary>Uses the channel of a client, for what the client does not have.</summary>
    private sealed class GreetingNotifier([FromKeyedServices(typeof(Greeter.GreeterClient))] ShmChannel channel)
    {
        private readonly Greeter.GreeterClient _oneWay = new(channel.CreateOneWayInvoker());

        public async Task NotifyAsync(string name) =>
            await _oneWay.SayHelloAsync(new HelloRequest { Name = name });
    }
    // end snippet

    private sealed class GreetingBook
    {
        private int _count;

        public int Next() => Interlocked.Increment(ref _count);
    }
}
