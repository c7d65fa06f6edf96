using Grpc.Core;
using Microsoft.Extensions.Logging;

namespace RpcOverShm.Samples;

/// <summary>The service: runs under an account of its own, and takes the calls of one desktop user.</summary>
internal static class Service
{
    /// <summary>The line that the service prints when it accepts clients.</summary>
    public const string ReadyLine = "ready";

    public const string Address = "shm://assistant";

    public static async Task<int> RunAsync(string directory, string allowedUser)
    {
        // Standard output is for the line that says that the service is ready.
        using ILoggerFactory loggers = LoggerFactory.Create(logging => logging.AddConsole(
            console => console.LogToStandardErrorThreshold = LogLevel.Trace));

        // snippet: host
        var options = new ShmServerOptions
        {
            LoggerFactory = loggers,
            Listen = { RuntimeDirectory = directory, AllowedUsers = { allowedUser } },
        };
        await using var server = new ShmServer(Address, options);
        // end snippet
        server.Services.Add(Greeter.BindService(new GreeterService()));
        await server.StartAsync();
        Console.WriteLine(ReadyLine);

        // The input is a pipe from the demonstration, so it ends when the demonstration closes it or dies.
        await Console.In.ReadToEndAsync();
        await server.StopAsync(grace: TimeSpan.FromSeconds(1));
        return 0;
    }

    private sealed class GreeterService : Greeter.GreeterBase
    {
        // The kernel, not the client, says who calls.
        public override Task<HelloReply> SayHello(HelloRequest request, ServerCallContext context)
        {
            string user = context.AuthContext.FindPropertiesByName("uid").Single().Value;
            return Task.FromResult(new HelloReply
            {
                Message = $"Hello {request.Name} of user {user}, says a service of user {AccountProcess.OwnUser()}",
            });
        }
    }
}
