using RpcOverShm;
using RpcOverShm.Samples;

using ShmChannel channel = ShmChannel.ForAddress("shm://greeter");
var client = new Greeter.GreeterClient(channel);

HelloReply reply = client.SayHello(new HelloRequest { Name = "blocking world" });
Console.WriteLine(reply.Message);

reply = await client.SayHelloAsync(new HelloRequest { Name = "async world" });
Console.WriteLine(reply.Message);
