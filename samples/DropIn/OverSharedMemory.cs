using Grpc.Core;
using Grpc.Core.Interceptors;
using Microsoft.Extensions.Logging;

namespace RpcOverShm.Samples;

/// <summary>Runs the tour over shared memory.</summary>
internal static class OverSharedMemory
{
    public static async Task<IReadOnlyList<string>> RunAsync()
    {
        ServerServiceDefinition service = Depot.BindService(new DepotService()).Intercept(new SigningInterceptor());

        using ILoggerFactory loggers = LoggerFactory.Create(
            logging => logging.AddConsole().SetMinimumLevel(LogLevel.Warning));

        // snippet: host
        var options = new ShmServerOptions { LoggerFactory = loggers };
        var server = new ShmServer($"shm://drop-in-{Environment.ProcessId}", options);
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
