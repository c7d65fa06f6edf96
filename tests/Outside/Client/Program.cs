using Grpc.Core;
using Grpc.Core.Interceptors;
using OpenTelemetry;
using OpenTelemetry.Metrics;
using OpenTelemetry.Trace;
using Outside;
using Outside.Client;
using RpcOverShm;
using RpcOverShm.MessagePack;
using RpcOverShm.Protobuf;
#if CODE_FIRST
using Outside.Contract;
using ProtoBuf.Grpc;
using ProtoBuf.Grpc.Client;
#endif

var spans = new Spans();
using TracerProvider traces =
    Sdk.CreateTracerProviderBuilder().AddRpcOverShmInstrumentation().AddProcessor(spans).Build();
var counts = new Counts();
using MeterProvider metrics = Sdk.CreateMeterProviderBuilder().AddRpcOverShmInstrumentation()
    .AddReader(new BaseExportingMetricReader(counts)).Build();
var watcher = new Watcher();
var options = new ShmChannelOptions();
options.Callbacks.Services.Add(NoteWatcher.BindService(watcher));
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

// A typed failure.
var faults = new ShmFaultClientInterceptor(new ShmFaultsBuilder().AddDetail<Note>().Build());
try
{
    await new Notes.NotesClient(channel.Intercept(faults)).AddAsync(new Note());
    Expect("a failure", "an answer");
}
catch (ShmFaultException<Note> failure)
{
    Expect("A note has a text.", failure.Detail.Text);
}

#if CODE_FIRST
// An interface instead of a .proto file.
IArchive archive = channel.CreateGrpcService<IArchive>();
Expect("page 7", (await archive.FindAsync(new Page { Number = 7 })).Text);
#endif

// The calls of this process, and the callback that it has served.
Expect(true, spans.Names.Contains("Client outside.Notes/Add"));
Expect(true, spans.Names.Contains("Server outside.NoteWatcher/Added"));
metrics.ForceFlush();
Expect(true, counts.Names.IsSupersetOf(["rpc.client.call.duration", "rpc.server.call.duration"]));
Expect(true, counts.Names.Contains("rpcovershm.connections"));
Console.WriteLine("The client has seen all answers.");

static void Expect<T>(T expected, T actual)
{
    if (!Equals(expected, actual))
    {
        throw new InvalidOperationException($"The client got '{actual}' where '{expected}' is right.");
    }
}
