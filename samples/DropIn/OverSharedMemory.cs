using Grpc.Core;
using Grpc.Core.Interceptors;

namespace RpcOverShm.Samples;

/// <summary>Runs the tour over shared memory.</summary>
internal static class OverSharedMemory
{
    public static async Task<IReadOnlyList<string>> RunAsync()
    {
        ServerServiceDefinition service = Depot.BindService(new DepotService()).Intercept(new SigningInterceptor());

        // snippet: host
        var server = new ShmServer($"shm://drop-in-{Environment.ProcessId}");
        server.Services.Add(service);
        await server.StartAsync();

        var channel = ShmChannel.ForAddress(server.Address);
        IReadOnlyList<string> said = await DepotTour.RunAsync(channel);

        await channel.ShutdownAsync();
        await server.StopAsync();
        // end snippet
        return said;
    }
}
