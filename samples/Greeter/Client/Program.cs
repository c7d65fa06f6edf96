using RpcOverShm;
using RpcOverShm.Samples;

using ShmChannel channel = ShmChannel.ForAddress("shm://greeter");
var client = new Greeter.GreeterClient(channel);
HelloReply blocking = client.SayHello(new HelloRequest { Name = "blocking world" });
HelloReply awaited = await client.SayHelloAsync(new HelloRequest { Name = "async world" });
Console.WriteLine($"{blocking.Message}\n{awaited.Message}");
