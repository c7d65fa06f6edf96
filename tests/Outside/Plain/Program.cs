using Outside;
using Outside.Contract;
using Outside.Plain;
using RpcOverShm;

// With "server" a server, which stops at the end of its input; else a client.
if (args is ["server"])
{
    await using var server = new ShmServer("shm://outside");
    server.Services.Add(Notes.BindService(new NotesService()));
    await server.StartAsync();
    Console.WriteLine("ready");
    await Console.In.ReadToEndAsync();
    await server.StopAsync(TimeSpan.FromSeconds(5));
    return;
}

using ShmChannel channel = ShmChannel.ForAddress("shm://outside");
await AllShapes.CallAsync(new Notes.NotesClient(channel));
Console.WriteLine("The client has seen all answers.");
