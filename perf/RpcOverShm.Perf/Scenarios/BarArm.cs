using RpcOverShm.Perf.Peer.Loads;

namespace RpcOverShm.Perf.Scenarios;

/// <summary>An arm with one kind of caller, or with the faster one.</summary>
internal readonly record struct BarArm(string Label, CallerKind? Caller = null)
{
    public static BarArm Blocking(string label) => new(label, CallerKind.Blocking);

    public static BarArm Async(string label) => new(label, CallerKind.Async);
}
