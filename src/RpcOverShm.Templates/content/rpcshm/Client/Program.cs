#if (codeFirst)
using ProtoBuf.Grpc.Client;
#endif
using RpcOverShm;
#if (isMessagePack)
using RpcOverShm.MessagePack;
#endif
using RpcShmNamespace;
using RpcShmNamespace.Client;

#if (isMessagePack)
var options = new ShmChannelOptions { Codec = ShmMessagePackCodec.Instance };
using ShmChannel channel = ShmChannel.ForAddress("shm://rpcshm_name", options);
#else
using ShmChannel channel = ShmChannel.ForAddress("shm://rpcshm_name");
#endif
await using ServerProcess? server = await ServerProcess.StartIfNobodyServesAsync(channel);

#if (codeFirst)
IGreeter client = channel.CreateGrpcService<IGreeter>();
#else
var client = new Greeter.GreeterClient(channel);
HelloReply blocking = client.SayHello(new HelloRequest { Name = "blocking world" });
Console.WriteLine(blocking.Message);
#endif
HelloReply awaited = await client.SayHelloAsync(new HelloRequest { Name = "async world" });
Console.WriteLine(awaited.Message);
