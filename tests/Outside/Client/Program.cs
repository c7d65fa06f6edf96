using Grpc.Core;
using Grpc.Core.Interceptors;
using OpenTelemetry;
using OpenTelemetry.Metrics;
using OpenTelemetry.Trace;
using Outside;
using Outside.Client;
using Outside.Contract;
using RpcOverShm;
using RpcOverShm.MessagePack;
using RpcOverShm.Protobuf;
using static Outside.Contract.AllShapes;
#if CODE_FIRST
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

// A callback of a blocking call runs on this thread; one of an awaited call does not.
await AllShapes.CallAsync(client);
Expect("one, two", string.Join(", ", watcher.Seen));

using ShmChannel packed = ShmChannel.ForAddress(
    "shm://outside", new ShmChannelOptions { Codec = ShmMessagePackCodec.Instance });
var listed = new List<string>();
await foreach (Note note in new Notes.NotesClient(packed).List(new ListRequest()).ResponseStream.ReadAllAsync())
{
    listed.Add(note.Text);
}

Expect("one, two, three, four", string.Join(", ", listed));

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
