using System.Net;
using Grpc.Core;
using Grpc.Net.Client;
using Microsoft.AspNetCore.Builder;
using Microsoft.AspNetCore.Hosting;
using Microsoft.AspNetCore.Server.Kestrel.Core;
using Microsoft.Extensions.DependencyInjection;
using Microsoft.Extensions.Logging;

namespace RpcOverShm.Samples;

/// <summary>The two ways into one service: each server has its address, and the client's channel follows it.</summary>
internal static class Doors
{
    /// <summary>The address of the shared memory that the host of HTTP/2 serves.</summary>
    public static string HostedAddress { get; } = $"shm://two-doors-{Environment.ProcessId}/hosted";

    // snippet: shared-memory
    public static async Task<ShmServer> OpenSharedMemoryAsync(DepotService depot, ILoggerFactory loggers)
    {
        var options = new ShmServerOptions
        {
            LoggerFactory = loggers,
            Interceptors = { new SigningInterceptor() },
        };
        var server = new ShmServer($"shm://two-doors-{Environment.ProcessId}", options);
        server.Services.Add(Depot.BindService(depot));
        await server.StartAsync();
        return server;
    }
    // end snippet

    // snippet: http
    public static async Task<WebApplication> OpenHttpAsync(DepotService depot)
    {
        WebApplicationBuilder builder = WebApplication.CreateBuilder();
        builder.Logging.ClearProviders();
        builder.WebHost.ConfigureKestrel(kestrel => kestrel.Listen(
            IPAddress.Loopback, port: 0, listen => listen.Protocols = HttpProtocols.Http2));
        builder.Services.AddSingleton(depot);
        builder.Services.AddGrpc(options => options.Interceptors.Add<SigningInterceptor>());
        AddSharedMemory(builder.Services, HostedAddress);
        WebApplication app = builder.Build();
        app.MapGrpcService<DepotService>();
        await app.StartAsync();
        return app;
    }
    // end snippet

    // snippet: hosted
    /// <summary>The line of a host: the server starts and stops with it.</summary>
    public static void AddSharedMemory(IServiceCollection services, string address) =>
        services.AddShmServer(address).AddService<DepotService>().AddInterceptor<SigningInterceptor>();
    // end snippet

    // snippet: channel
    /// <summary>The only line of a client that knows of two transports.</summary>
    public static ChannelBase ChannelFor(string address) => address.StartsWith("shm://", StringComparison.Ordinal)
        ? ShmChannel.ForAddress(address)
        : GrpcChannel.ForAddress(address);
    // end snippet
}
