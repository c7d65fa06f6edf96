namespace RpcOverShm.Perf.Peer.Arms;

/// <summary>
/// A gRPC arm: one of the services over one of the transports, with one channel for all that is opened.
/// </summary>
internal sealed class CallsArm(string name, CallsTransport transport, CallsService service) : IArm
{
    public string Name => name;

    /// <summary>Whether calls are also sent in batches, which only the product's channel has.</summary>
    public bool HasBatches { get; init; }

    public int LargeObjectsFrom { get; init; }

    public IFeed Feed => service.Feed;

    /// <summary>Streams are awaited only: a generated client has no blocking form of them.</summary>
    public bool Supports(LoadShape shape, CallerKind caller) => shape switch
    {
        LoadShape.Echo => service.HasEcho,
        LoadShape.Backlog => service is GeneratedCalls && caller == CallerKind.Async,
        LoadShape.Batch => HasBatches && caller == CallerKind.Async,
        _ => service.HasStreams && caller == CallerKind.Async,
    };

    public Task<string> ServeAsync(string place) => transport.ServeAsync(service, place);

    public IArmClient MakeClient(string place) => new Client(transport.OpenChannel(place), service);

    private sealed class Client(ChannelBase channel, CallsService service) : IArmClient
    {
        public Task<IEcho> OpenEchoAsync(CallerKind caller) => Task.FromResult(service.OpenEcho(channel));

        public IEcho OpenBlocking() => service.OpenBlocking(channel);

        public Action<int> OpenDelay() => service.OpenDelay(channel);

        public Task<IPump> OpenPumpAsync(CallerKind caller) => Task.FromResult(service.OpenPump(channel));

        public Task<IDrain> OpenDrainAsync(CallerKind caller) => Task.FromResult(service.OpenDrain(channel));

        public Task SubscribeAsync(FeedReader reader) => service.SubscribeAsync(channel, reader);

        public IBatch OpenBatch() => new CallsBatch((ShmChannel)channel);
    }
}
