using RpcOverShm.Perf.Peer.Loads;

namespace RpcOverShm.Perf.Peer.Arms;

/// <summary>Calls that are sent together: prepare, call, check. One thread at a time.</summary>
internal interface IBatch
{
    /// <summary>Fills the requests. Not on the clock.</summary>
    void Prepare(int calls, LoadOrder order);

    /// <summary>Records all calls, sends them, and awaits all answers.</summary>
    Task CallAsync();

    /// <summary>The bytes of the answers that are wrong. Not on the clock.</summary>
    long CountWrong();
}
