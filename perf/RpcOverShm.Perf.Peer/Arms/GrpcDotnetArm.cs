using System.Net.Sockets;
using Grpc.Net.Client;
using Microsoft.AspNetCore.Builder;
using Microsoft.AspNetCore.Hosting;
using Microsoft.AspNetCore.Server.Kestrel.Core;
using Microsoft.Extensions.DependencyInjection;
using Microsoft.Extensions.Logging;

namespace RpcOverShm.Perf.Peer.Arms;

/// <summary>
/// gRPC as a program of today has it: grpc-dotnet's client, its server on Kestrel, a Unix domain socket between them.
/// Default options but for messages of any size, and without the log that would go to standard output.
/// </summary>
internal sealed class GrpcDotnetArm : CallsArm
{
    public override string Name => "grpc-dotnet-uds";

    /// <summary>Starts a server; it lives as long as the process.</summary>
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

    public static GrpcChannel OpenChannel(string place) => GrpcChannel.ForAddress(
        "http://localhost",
        new GrpcChannelOptions
        {
            MaxReceiveMessageSize = null,
            HttpHandler = new SocketsHttpHandler
            {
                ConnectCallback = async (_, cancellation) =>
                {
                    var socket = new Socket(AddressFamily.Unix, SocketType.Stream, ProtocolType.Unspecified);
                    await socket.ConnectAsync(new UnixDomainSocketEndPoint(place), cancellation);
                    return new NetworkStream(socket, ownsSocket: true);
                },
            },
        });

    public override Task<string> ServeAsync(string place) => StartServerAsync<CheckedService>(place);

    protected override ChannelBase MakeChannel(string place) => OpenChannel(place);
}
