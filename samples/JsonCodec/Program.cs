using System.Text;
using RpcOverShm;
using RpcOverShm.Samples;

// A server that answers JSON requests in JSON, and a client that sends them.
var options = new ShmServerOptions { Codecs = { new JsonCodec() } };
await using var server = new ShmServer($"shm://json-codec-{Environment.ProcessId}", options);
server.Services.Add(Greeter.BindService(new GreeterService()));
await server.StartAsync();

using var channel = ShmChannel.ForAddress(server.Address, new ShmChannelOptions { Codec = new JsonCodec() });
HelloReply reply = new Greeter.GreeterClient(channel).SayHello(new HelloRequest { Name = "messages" });
Console.WriteLine($"a generated client:  {reply.Message}");

// A second client uses the codec's name with raw bytes, which shows the bytes on the wire.
var sayHello = ShmMethod.Unary<byte[], byte[]>("rpcovershm.samples.Greeter", "SayHello");
using var wire = ShmChannel.ForAddress(server.Address, new ShmChannelOptions { Codec = new ShmRawCodec("json") });
byte[] answer = wire.CreateCallInvoker().BlockingUnaryCall(
    sayHello, host: null, default, """{ "name": "bytes" }"""u8.ToArray());
Console.WriteLine($"a client that writes JSON:  {Encoding.UTF8.GetString(answer)}");

bool isAsExpected = reply.Message == "Hello messages" && HelloReply.Parser.ParseJson(Encoding.UTF8.GetString(answer))
    .Message == "Hello bytes";
return isAsExpected ? 0 : 1;
