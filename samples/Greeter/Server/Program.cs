using Grpc.Core;
using Microsoft.Extensions.Logging;
using RpcOverShm;
using RpcOverShm.Samples;

using ILoggerFactory loggers = LoggerFactory.Create(logging => logging.AddConsole());
await using var server = new ShmServer("shm://greeter", new ShmServerOptions { LoggerFactory = loggers });
server.Services.Add(Greeter.BindService(new GreeterService()));
await server.StartAsync();
Console.ReadLine(); // Enter stops the server.
await server.StopAsync(grace: TimeSpan.FromSeconds(5));

internal sealed class GreeterService : Greeter.GreeterBase
{
    public override Task<HelloReply> SayHello(HelloRequest request, ServerCallContext context) =>
        Task.FromResult(new HelloReply { Message = $"Hello {request.Name}" });
}
