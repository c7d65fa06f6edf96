using Microsoft.Extensions.Logging;
#if (codeFirst)
using ProtoBuf.Grpc;
#endif
using RpcOverShm;
#if (isMessagePack)
using RpcOverShm.MessagePack;
#endif
#if (!codeFirst)
using RpcShmNamespace;
#endif
using RpcShmNamespace.Server;

using ILoggerFactory loggers = LoggerFactory.Create(logging => logging.AddConsole());
var options = new ShmServerOptions { LoggerFactory = loggers };
#if (isMessagePack)
options.Codecs.Add(ShmMessagePackCodec.Instance);
#endif
await using var server = new ShmServer("shm://rpcshm_name", options);
#if (codeFirst)
server.Services.AddCodeFirst(new GreeterService());
#else
server.Services.Add(Greeter.BindService(new GreeterService()));
#endif
await server.StartAsync();
Console.WriteLine($"The server serves {server.Address}. Enter stops it.");
Console.ReadLine();
await server.StopAsync(grace: TimeSpan.FromSeconds(5));
