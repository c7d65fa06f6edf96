namespace RpcOverShm.Perf.Peer.Arms;

/// <summary>
/// What all gRPC arms share: the same generated client and service, the same messages. They differ in channel and
/// server.
/// </summary>
internal abstract class CallsArm : IArm
{
    public abstract string Name { get; }

    /// <summary>A generated client streams by awaiting; it has no blocking form.</summary>
    public virtual bool Supports(LoadShape shape, CallerKind caller) =>
        shape == LoadShape.Echo || (caller == CallerKind.Async && shape != LoadShape.Batch);

    public abstract Task<string> ServeAsync(string place);

    public virtual IArmClient MakeClient(string place) => new CallsClient(MakeChannel(place));

    /// <summary>The service, for a server that takes it bound.</summary>
    protected static ServerServiceDefinition Bind() => Conformance.BindService(new CheckedService());

    protected abstract ChannelBase MakeChannel(string place);
}
