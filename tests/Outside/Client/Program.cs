using Grpc.Core;
using Outside;
using Outside.Client;
using RpcOverShm;
using RpcOverShm.MessagePack;

var watcher = new Watcher();
var options = new ShmChannelOptions();
options.CallbackServices.Add(NoteWatcher.BindService(watcher));
using ShmChannel channel = ShmChannel.ForAddress("shm://outside", options);
var client = new Notes.NotesClient(channel);

// The first callback runs on this thread, which blocks in its call; the second while the call is awaited.
Expect(1, client.Add(new Note { Text = "one" }).Count);
Expect(2, (await client.AddAsync(new Note { Text = "two" })).Count);
Expect("one, two", string.Join(", ", watcher.Seen));

using ShmChannel packed = ShmChannel.ForAddress(
    "shm://outside", new ShmChannelOptions { Codec = ShmMessagePackCodec.Instance });
var listed = new List<string>();
await foreach (Note note in new Notes.NotesClient(packed).List(new ListRequest()).ResponseStream.ReadAllAsync())
{
    listed.Add(note.Text);
}

Expect("one, two", string.Join(", ", listed));
Console.WriteLine("The client has seen all answers.");

static void Expect<T>(T expected, T actual)
{
    if (!Equals(expected, actual))
    {
        throw new InvalidOperationException($"The client got '{actual}' where '{expected}' is right.");
    }
}
