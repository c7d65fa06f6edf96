namespace RpcOverShm.Perf.Peer.Arms;

/// <summary>
/// StreamJsonRpc with its MessagePack formatter over a Unix domain socket, as the suite knows it. Its two ends are in a
/// program of their own, because it needs MessagePack 2.
/// </summary>
internal class JsonRpcArm : IArm
{
    public string Name => "streamjsonrpc-uds";

    public string Program => "RpcOverShm.Perf.JsonRpcPeer";

    /// <summary>All its calls are awaited.</summary>
    public bool Supports(LoadShape shape, CallerKind caller) =>
        shape == LoadShape.Echo && caller == CallerKind.Async;

    public virtual Task<string> ServeAsync(string place) => throw IsElsewhere();

    public virtual IArmClient MakeClient(string place) => throw IsElsewhere();

    private NotSupportedException IsElsewhere() => new($"{Name} is an arm of {Program}.");
}
