using Google.Rpc;
using Grpc.Health.V1;
using Grpc.Reflection;
using Grpc.Reflection.V1;
using RpcOverShm;
using RpcOverShm.Samples;
using FormerReflection = Grpc.Reflection.V1Alpha.ServerReflection;
using ServingStatus = Grpc.Health.V1.HealthCheckResponse.Types.ServingStatus;

await using var server = new ShmServer($"shm://services-{Environment.ProcessId}");

// snippet: host
var health = new StoppingHealthService(server.Stopping);
health.SetStatus(Greeter.Descriptor.FullName, ServingStatus.Serving);

server.Services.Add(Greeter.BindService(new ExactingGreeter()));
server.Services.Add(Health.BindService(health));

// Version 1, and the one before it, which many tools ask for first.
server.Services.Add(ServerReflection.BindService(new ReflectionV1ServiceImpl(Greeter.Descriptor, Health.Descriptor)));
server.Services.Add(FormerReflection.BindService(new ReflectionServiceImpl(Greeter.Descriptor, Health.Descriptor)));
// end snippet
await server.StartAsync();

using var channel = ShmChannel.ForAddress(server.Address);
var seen = new List<string>();
void Show(string line)
{
    Console.WriteLine(line);
    seen.Add(line);
}

using (var reflection = new ServerReflection.ServerReflectionClient(channel).ServerReflectionInfo())
{
    await reflection.RequestStream.WriteAsync(new ServerReflectionRequest { ListServices = "" });
    await reflection.RequestStream.CompleteAsync();
    await foreach (ServerReflectionResponse response in reflection.ResponseStream.ReadAllAsync())
    {
        Show($"services: {string.Join(", ", response.ListServicesResponse.Service.Select(service => service.Name))}");
    }
}

try
{
    new Greeter.GreeterClient(channel).SayHello(new HelloRequest());
}
catch (RpcException exception)
{
    // snippet: details
    var details = exception.GetRpcStatus()?.GetDetail<BadRequest>();
    foreach (BadRequest.Types.FieldViolation violation in details?.FieldViolations ?? [])
    {
        Show($"{exception.StatusCode}, {violation.Field}: {violation.Description}");
    }
    // end snippet
}

using var watch = new Health.HealthClient(channel).Watch(
    new HealthCheckRequest { Service = Greeter.Descriptor.FullName });
await watch.ResponseStream.MoveNext();
Show($"health: {watch.ResponseStream.Current.Status}");
health.SetStatus(Greeter.Descriptor.FullName, ServingStatus.NotServing);
await watch.ResponseStream.MoveNext();
Show($"health: {watch.ResponseStream.Current.Status}");

// Waits without a time limit for all calls to end. The watch ends because the server begins to stop.
await server.StopAsync();
Show($"watch: {(await watch.ResponseStream.MoveNext() ? "goes on" : $"ended {watch.GetStatus().StatusCode}")}");

string[] expected =
[
    "services: rpcovershm.samples.Greeter, grpc.health.v1.Health",
    "InvalidArgument, name: It is empty.",
    "health: Serving",
    "health: NotServing",
    "watch: ended OK",
];
return seen.SequenceEqual(expected) ? 0 : 1;
