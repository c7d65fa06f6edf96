namespace RpcOverShm.Perf.Peer.Arms;

/// <summary>
/// A service that gRPC arms serve, and the client's way to each of its methods. Every arm of it is alike.
/// </summary>
internal abstract class CallsService
{
    /// <summary>Whether the client sends a message and waits for its answer.</summary>
    public virtual bool HasEcho => true;

    /// <summary>Whether the messages of the service are streamed too.</summary>
    public virtual bool HasStreams => false;

    /// <summary>The service, for a server that takes it bound.</summary>
    public abstract ServerServiceDefinition Bind();

    /// <summary>Starts a server of grpc-dotnet, which takes a service by its class.</summary>
    public virtual Task<string> ServeByKestrelAsync(string place) => throw new NotSupportedException();

    public abstract IEcho OpenEcho(ChannelBase channel);

    /// <inheritdoc cref="IArmClient.OpenBlocking"/>
    public virtual IEcho OpenBlocking(ChannelBase channel) => throw new NotSupportedException();

    /// <inheritdoc cref="IArmClient.OpenDelay"/>
    public virtual Action<int> OpenDelay(ChannelBase channel) => throw new NotSupportedException();

    public virtual IPump OpenPump(ChannelBase channel) => throw new NotSupportedException();

    public virtual IDrain OpenDrain(ChannelBase channel) => throw new NotSupportedException();

    /// <inheritdoc cref="IArm.Feed"/>
    public virtual IFeed Feed => throw new NotSupportedException();

    /// <inheritdoc cref="IArmClient.SubscribeAsync"/>
    public virtual Task SubscribeAsync(ChannelBase channel, FeedReader reader) => throw new NotSupportedException();
}
