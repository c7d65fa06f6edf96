using Grpc.Core;
using Grpc.Core.Interceptors;

namespace RpcOverShm.Samples;

/// <summary>Runs the tour over Grpc.Core.</summary>
internal static class OverGrpcCore
{
    public static async Task<IReadOnlyList<string>> RunAsync()
    {
        ServerServiceDefinition service = Depot.BindService(new DepotService()).Intercept(new SigningInterceptor());

        // snippet: host
        var server = new Server();
        server.Services.Add(service);
        server.Ports.Add("127.0.0.1", 0, ServerCredentials.Insecure);
        server.Start();

        int port = server.Ports.Single().BoundPort;
        var channel = new Channel("127.0.0.1", port, ChannelCredentials.Insecure);
        IReadOnlyList<string> said = await DepotTour.RunAsync(channel);

        await channel.ShutdownAsync();
        await server.ShutdownAsync();
        // end snippet
        return said;
    }
}
