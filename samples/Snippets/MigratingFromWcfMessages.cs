using Microsoft.Extensions.Logging;
using Microsoft.Extensions.Logging.Abstractions;
using RpcOverShm.MessagePack;

namespace RpcOverShm.Samples;

/// <summary>The code of docs/migrating-from-wcf.md: streams, raw messages and other serialisers.</summary>
internal static class MigratingFromWcfMessages
{
    // snippet: raw-method
    // WCF: [OperationContract(Action = "*", ReplyAction = "*")] Message Process(Message message);
    private static readonly Method<ShmPayload, ShmPayload> s_anyHello = new(
        MethodType.Unary, "rpcovershm.samples.Greeter", "SayHello", ShmPayload.Marshaller, ShmPayload.Marshaller);
    // end snippet

    // snippet: file-method
    // WCF: [OperationContract] Stream GetFile(string name); with TransferMode.Streamed
    private static readonly Method<ShmPayload, ShmPayload> s_getFile = new(
        MethodType.ServerStreaming, "rpcovershm.samples.Files", "Get", ShmPayload.Marshaller, ShmPayload.Marshaller);
    // end snippet

    public static async Task RunAsync(string address)
    {
        ILoggerFactory loggers = NullLoggerFactory.Instance;

        // snippet: codec-server
        var serverOptions = new ShmServerOptions
        {
            LoggerFactory = loggers,
            Codecs = { ShmMessagePackCodec.Instance },
        };
        // end snippet
        await using var server = new ShmServer(address, serverOptions);
        server.Services.Add(Greeter.BindService(new SnippetService()));
        server.Services.Add(Ticker.BindService(new CountingTicker()));
        server.Services.Add(ServerServiceDefinition.CreateBuilder().AddMethod(s_getFile, SendAsync).Build());
        await server.StartAsync();

        // snippet: codec-client
        var options = new ShmChannelOptions { Codec = ShmMessagePackCodec.Instance };
        using ShmChannel packed = ShmChannel.ForAddress(address, options);
        // end snippet
        Expect.Equal("Hello x", new Greeter.GreeterClient(packed).SayHello(new HelloRequest { Name = "x" }).Message);

        using ShmChannel channel = ShmChannel.ForAddress(address);
        Expect.Equal(3, await WatchAsync(new Ticker.TickerClient(channel)));
        Expect.Equal(100_000, await CopyAsync(channel));
        await RouteAsync(channel.CreateCallInvoker(), $"{address}/router");
    }

    private static async Task<int> WatchAsync(Ticker.TickerClient client)
    {
        int count = 0;

        // snippet: stream-client
        // WCF: an IEnumerable<Tick> that is produced while it is read.
        using AsyncServerStreamingCall<Tick> call = client.Watch(new WatchRequest { Name = "SHM", Count = 3 });
        await foreach (Tick tick in call.ResponseStream.ReadAllAsync())
        {
            count += tick.Name.Length > 0 ? 1 : 0;
        }
        // end snippet

        return count;
    }

    // snippet: file-server
    private static async Task SendAsync(
        ShmPayload request, IServerStreamWriter<ShmPayload> responses, ServerCallContext context)
    {
        using ShmPayload name = request;
        using Stream file = Open(name);
        while (true)
        {
            using ShmPayload chunk = await ShmPayload.ReadAsync(file, 64 * 1024, context.CancellationToken);
            if (chunk.Length == 0)
            {
                return;
            }

            await responses.WriteAsync(chunk);
        }
    }
    // end snippet

    private static Stream Open(ShmPayload name) => name.Length > 0 ? new MemoryStream(new byte[100_000]) : Stream.Null;

    private static async Task<int> CopyAsync(ShmChannel channel)
    {
        using var copy = new MemoryStream();

        // snippet: file-client
        using ShmPayload name = ShmPayload.Wrap("report.pdf"u8.ToArray());
        using AsyncServerStreamingCall<ShmPayload> call =
            channel.CreateCallInvoker().AsyncServerStreamingCall(s_getFile, null, default, name);
        await foreach (ShmPayload received in call.ResponseStream.ReadAllAsync())
        {
            using ShmPayload chunk = received;
            await chunk.CopyToAsync(copy);
        }
        // end snippet

        return (int)copy.Length;
    }

    private static async Task RouteAsync(CallInvoker next, string address)
    {
        await using var router = new ShmServer(address);

        // snippet: router
        // Passes the bytes of each request and answer on, and parses none of them.
        router.Services.Add(ServerServiceDefinition.CreateBuilder()
            .AddMethod(s_anyHello, async (request, context) =>
            {
                using ShmPayload bytes = request;
                var options = new CallOptions(context.RequestHeaders, context.Deadline, context.CancellationToken);
                return await next.AsyncUnaryCall(s_anyHello, null, options, bytes);
            })
            .Build());
        // end snippet
        await router.StartAsync();
        using ShmChannel channel = ShmChannel.ForAddress(address);
        Expect.Equal("Hello y", new Greeter.GreeterClient(channel).SayHello(new HelloRequest { Name = "y" }).Message);
    }

    private sealed class CountingTicker : Ticker.TickerBase
    {
        // snippet: stream-server
        public override async Task Watch(
            WatchRequest request, IServerStreamWriter<Tick> responseStream, ServerCallContext context)
        {
            for (int i = 0; i < request.Count; i++)
            {
                // Waits while the client does not read.
                await responseStream.WriteAsync(new Tick { Name = request.Name, Sequence = i });
            }
        }
        // end snippet
    }
}
