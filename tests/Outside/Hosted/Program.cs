using Microsoft.Extensions.DependencyInjection;
using Microsoft.Extensions.Hosting;
using Microsoft.Extensions.Logging;
using Outside;
using Outside.Contract;
using Outside.Plain;
using RpcOverShm;

HostApplicationBuilder builder = Host.CreateApplicationBuilder();
builder.Logging.ClearProviders();

// With "server" a server, which stops at the end of its input; else a client.
if (args is not ["server"])
{
    builder.Services.AddShmClient<Notes.NotesClient>("shm://outside");
    using IHost client = builder.Build();
    await AllShapes.CallAsync(client.Services.GetRequiredService<Notes.NotesClient>());
    Console.WriteLine("The client has seen all answers.");
    return;
}

builder.Services.AddShmServer("shm://outside")
    .AddService<NotesService>(service => service.Lifetime = ShmServiceLifetime.Singleton)
    .AddHealth()
    .AddReflection();
using IHost server = builder.Build();
await server.StartAsync();
Console.WriteLine("ready");
await Console.In.ReadToEndAsync();
await server.StopAsync();
