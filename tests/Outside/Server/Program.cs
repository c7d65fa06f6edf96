using Outside;
using Outside.Server;
using RpcOverShm;
using RpcOverShm.MessagePack;

var options = new ShmServerOptions { Codecs = { ShmMessagePackCodec.Instance } };
await using var server = new ShmServer("shm://outside", options);
server.Services.Add(Notes.BindService(new NotesService()));
await server.StartAsync();
Console.WriteLine("ready");

// The end of the input is the sign to stop.
await Console.In.ReadToEndAsync();
await server.StopAsync(grace: TimeSpan.FromSeconds(5));
