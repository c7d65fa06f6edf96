namespace RpcOverShm.Perf.Peer.Loads;

/// <summary>When the clock of a slice runs, the same for all its callers.</summary>
internal readonly record struct EchoWindow(long StartTick, long EndTick);
