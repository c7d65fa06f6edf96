using Microsoft.Extensions.DependencyInjection;
using Microsoft.Extensions.Hosting;
using Microsoft.Extensions.Logging;
using Outside.Plain;
using RpcOverShm;

HostApplicationBuilder builder = Host.CreateApplicationBuilder(args);
builder.Logging.ClearProviders();
builder.Services.AddShmServer("shm://outside")
    .AddService<NotesService>(service => service.Lifetime = ShmServiceLifetime.Singleton)
    .AddHealth()
    .AddReflection();
using IHost host = builder.Build();
await host.StartAsync();
Console.WriteLine("ready");

// The end of the input is the sign to stop.
await Console.In.ReadToEndAsync();
await host.StopAsync();
