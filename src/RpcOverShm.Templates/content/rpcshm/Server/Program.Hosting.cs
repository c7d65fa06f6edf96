using Microsoft.Extensions.DependencyInjection;
using Microsoft.Extensions.Hosting;
#if (codeFirst)
using ProtoBuf.Grpc;
using RpcOverShm;
#endif
#if (isMessagePack)
using RpcOverShm.MessagePack;
#endif
using RpcShmNamespace.Server;

HostApplicationBuilder builder = Host.CreateApplicationBuilder(args);
#if (isMessagePack)
builder.Services.AddShmServer("shm://rpcshm_name", options => options.Codecs.Add(ShmMessagePackCodec.Instance))
#else
builder.Services.AddShmServer("shm://rpcshm_name")
#endif
#if (codeFirst)
    .AddHealth();
#else
    .AddService<GreeterService>()
    .AddHealth()
    .AddReflection();
#endif
using IHost host = builder.Build();
#if (codeFirst)
host.Services.GetRequiredService<ShmServer>().Services.AddCodeFirst(new GreeterService());
#endif

// A client that has started this process holds its input open for as long as it needs a server.
if (args is ["--until-end-of-input"])
{
    var lifetime = host.Services.GetRequiredService<IHostApplicationLifetime>();
    _ = Task.Run(() =>
    {
        Console.In.ReadToEnd();
        lifetime.StopApplication();
    });
}

await host.RunAsync();
