namespace RpcOverShm.Perf.Peer.Arms;

/// <summary>
/// A feed by server-streaming calls: a topic that all of them read, or a stream for each that is written to. Protobuf
/// messages of the generated service.
/// </summary>
internal sealed class FeedCalls(bool isTopic) : CallsService
{
    public override bool HasEcho => false;

    public override IFeed Feed => isTopic ? TopicService.Feed : StreamsService.Feed;

    public override ServerServiceDefinition Bind() =>
        Conformance.BindService(isTopic ? new TopicService() : new StreamsService());

    public override Task<string> ServeByKestrelAsync(string place) =>
        GrpcDotnetTransport.StartServerAsync<StreamsService>(place);

    public override IEcho OpenEcho(ChannelBase channel) => throw new NotSupportedException();

    public override async Task SubscribeAsync(ChannelBase channel, FeedReader reader)
    {
        AsyncServerStreamingCall<Payload> call = new Conformance.ConformanceClient(channel).Pump(new PumpRequest());
        await call.ResponseHeadersAsync;
        _ = Task.Run(() => ReadAsync(call, reader));
    }

    private static async Task ReadAsync(AsyncServerStreamingCall<Payload> call, FeedReader reader)
    {
        try
        {
            using (call)
            {
                while (await call.ResponseStream.MoveNext(CancellationToken.None))
                {
                    reader.Take(call.ResponseStream.Current.Data.Span);
                }
            }
        }
        catch (Exception exception)
        {
            // The suite, which waits for the messages in vain, reports it.
            await Console.Error.WriteLineAsync(exception.ToString());
        }
    }

    private static Payload Make(byte[] message) => new() { Data = UnsafeByteOperations.UnsafeWrap(message) };

    /// <summary>Its streams read a topic, which waits for all of them.</summary>
    private sealed class TopicService : Conformance.ConformanceBase
    {
        private static readonly ShmSubscribeOptions s_options =
            new() { SlowSubscriber = ShmSlowSubscriber.Wait, MaxWait = TimeSpan.FromSeconds(30) };

        public static TopicFeed Feed { get; } = new();

        public override Task Pump(
            PumpRequest request, IServerStreamWriter<Payload> responseStream, ServerCallContext context) =>
            Feed.Topic.SubscribeAsync(responseStream, context, s_options);
    }

    private sealed class TopicFeed : IFeed
    {
        public ShmTopic<Payload> Topic { get; } = new();

        public int Subscribers => Topic.Subscribers;

        public void Publish(byte[] message) => Topic.Publish(Make(message));
    }

    /// <summary>Its streams stay open for a feed that writes to them. Public for the rival's server.</summary>
    public sealed class StreamsService : Conformance.ConformanceBase
    {
        internal static StreamsFeed Feed { get; } = new();

        public override async Task Pump(
            PumpRequest request, IServerStreamWriter<Payload> responseStream, ServerCallContext context)
        {
            await context.WriteResponseHeadersAsync([]);
            Feed.Add(responseStream);
            await Task.Delay(Timeout.Infinite, context.CancellationToken);
        }
    }

    /// <summary>Starts to write a message to all streams, and then waits for those that must wait.</summary>
    internal sealed class StreamsFeed : IFeed
    {
        private readonly Lock _lock = new();
        private readonly List<Task> _running = [];
        private IServerStreamWriter<Payload>[] _streams = [];

        public int Subscribers => Volatile.Read(ref _streams).Length;

        public void Add(IServerStreamWriter<Payload> stream)
        {
            lock (_lock)
            {
                Volatile.Write(ref _streams, [.. _streams, stream]);
            }
        }

        public void Publish(byte[] message)
        {
            Payload payload = Make(message);
            foreach (IServerStreamWriter<Payload> stream in Volatile.Read(ref _streams))
            {
                Task written = stream.WriteAsync(payload);
                if (!written.IsCompletedSuccessfully)
                {
                    _running.Add(written);
                }
            }

            if (_running.Count > 0)
            {
                Task.WhenAll(_running).GetAwaiter().GetResult();
                _running.Clear();
            }
        }
    }
}
