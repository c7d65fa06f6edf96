using Grpc.Core;
using Microsoft.Extensions.DependencyInjection;
using Microsoft.Extensions.Hosting;
using Microsoft.Extensions.Logging;
using Outside;
using Outside.Server;
using RpcOverShm;
using RpcOverShm.MessagePack;
using RpcOverShm.Protobuf;
#if CODE_FIRST
using ProtoBuf.Grpc;
using ProtoBuf.Grpc.Client;
#endif

HostApplicationBuilder builder = Host.CreateApplicationBuilder(args);
builder.Logging.ClearProviders();
ShmFaults faults = new ShmFaultsBuilder()
    .Add<ArgumentException, Note>(StatusCode.InvalidArgument, exception => new Note { Text = exception.Message })
    .Build();
builder.Services.AddShmServer("shm://outside", options =>
    {
        options.Codecs.Add(ShmMessagePackCodec.Instance);
        options.Interceptors.Add(new ShmFaultServerInterceptor(faults));
    })
    .AddService<NotesService>(service => service.Lifetime = ShmServiceLifetime.Singleton)
    .AddHealth()
    .AddReflection();
using IHost host = builder.Build();
#if CODE_FIRST
host.Services.GetRequiredService<ShmServer>().Services.AddCodeFirst(new Archive());
#endif
await host.StartAsync();
Console.WriteLine("ready");

// The end of the input is the sign to stop.
await Console.In.ReadToEndAsync();
await host.StopAsync();
