#if (!codeFirst)
using Grpc.Health.V1;
using Grpc.HealthCheck;
using Grpc.Reflection;
using Grpc.Reflection.V1;
#endif
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

// What tools such as rpcshm ask: whether the server is well, and which services and messages it has.
var health = new HealthServiceImpl();
health.SetStatus("", HealthCheckResponse.Types.ServingStatus.Serving);
server.Services.Add(Health.BindService(health));
server.Services.Add(ServerReflection.BindService(new ReflectionV1ServiceImpl(Greeter.Descriptor, Health.Descriptor)));
#endif
await server.StartAsync();
Console.WriteLine($"The server serves {server.Address}. Enter stops it.");
Console.ReadLine();
await server.StopAsync(grace: TimeSpan.FromSeconds(5));
