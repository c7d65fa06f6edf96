using Grpc.Core;
using RpcOverShm;
using RpcOverShm.Samples;

await using var server = new ShmServer("shm://greeter");
server.Services.Add(Greeter.BindService(new GreeterService()));
await server.StartAsync();

Console.WriteLine("Greeting at shm://greeter; press Enter to stop.");
Console.ReadLine();
await server.StopAsync(grace: TimeSpan.FromSeconds(5));

internal sealed class GreeterService : Greeter.GreeterBase
{
    public override Task<HelloReply> SayHello(HelloRequest request, ServerCallContext context) =>
        Task.FromResult(new HelloReply { Message = $"Hello {request.Name}" });
}
