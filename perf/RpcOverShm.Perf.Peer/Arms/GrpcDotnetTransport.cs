using Grpc.Net.Client;
using Microsoft.AspNetCore.Builder;
using Microsoft.AspNetCore.Hosting;
using Microsoft.AspNetCore.Server.Kestrel.Core;
using Microsoft.Extensions.DependencyInjection;
using Microsoft.Extensions.Logging;

namespace RpcOverShm.Perf.Peer.Arms;

/// <summary>
/// The current implementation of gRPC: grpc-dotnet's client, its server on Kestrel, a Unix domain socket between them.
/// Default options but for messages of any size, and without the log that would go to standard output.
/// </summary>
internal sealed class GrpcDotnetTransport : CallsTransport
{
    public static async Task<string> StartServerAsync<TService>(string place)
        where TService : class
    {
        WebApplicationBuilder builder = WebApplication.CreateBuilder();
        builder.Logging.ClearProviders();
        builder.WebHost.ConfigureKestrel(kestrel =>
            kestrel.ListenUnixSocket(place, listen => listen.Protocols = HttpProtocols.Http2));
        builder.Services.AddGrpc(options => options.MaxReceiveMessageSize = null);
        WebApplication server = builder.Build();
        server.MapGrpcService<TService>();
        await server.StartAsync();
        return place;
    }

    public override Task<string> ServeAsync(CallsService service, string place) => service.ServeByKestrelAsync(place);

    public override ChannelBase OpenChannel(string place) => GrpcChannel.ForAddress(
        "http://localhost",
        new GrpcChannelOptions
        {
            MaxReceiveMessageSize = null,
            HttpHandler = new SocketsHttpHandler
            {
                ConnectCallback = async (_, cancellation) => await SocketArm.ConnectUnixAsync(place, cancellation),
            },
        });
}
