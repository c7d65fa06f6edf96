using Microsoft.Extensions.DependencyInjection;
using Microsoft.Extensions.Hosting;
using Microsoft.Extensions.Logging;
using Outside.Server;
using ProtoBuf.Grpc;
using ProtoBuf.Grpc.Client;
using RpcOverShm;
using RpcOverShm.Hosting;
using RpcOverShm.MessagePack;

HostApplicationBuilder builder = Host.CreateApplicationBuilder(args);
builder.Logging.ClearProviders();
builder.Services.AddShmServer("shm://outside", options => options.Codecs.Add(ShmMessagePackCodec.Instance))
    .AddService<NotesService>(service => service.Lifetime = ShmServiceLifetime.Singleton)
    .AddHealth();
using IHost host = builder.Build();
host.Services.GetRequiredService<ShmServer>().Services.AddCodeFirst(new Archive());
await host.StartAsync();
Console.WriteLine("ready");

// The end of the input is the sign to stop.
await Console.In.ReadToEndAsync();
await host.StopAsync();
