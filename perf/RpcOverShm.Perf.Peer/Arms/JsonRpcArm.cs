namespace RpcOverShm.Perf.Peer.Arms;

/// <summary>
/// StreamJsonRpc with its MessagePack formatter over a Unix domain socket. Its ends are in a program of their own,
/// because it needs MessagePack 2; here is what the suite has to know of it.
/// </summary>
internal class JsonRpcArm : IArm
{
    public string Name => "streamjsonrpc-uds";

    public string Program => "RpcOverShm.Perf.JsonRpcPeer";

    /// <summary>It has calls that are awaited, and no others.</summary>
    public bool Supports(LoadShape shape, CallerKind caller) =>
        shape == LoadShape.Echo && caller == CallerKind.Async;

    public virtual Task<string> ServeAsync(string place) => throw IsElsewhere();

    public virtual IArmClient MakeClient(string place) => throw IsElsewhere();

    private NotSupportedException IsElsewhere() => new($"{Name} is an arm of {Program}.");
}
