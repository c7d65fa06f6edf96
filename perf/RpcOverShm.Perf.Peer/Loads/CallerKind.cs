using System.Text.Json.Serialization;

namespace RpcOverShm.Perf.Peer.Loads;

/// <summary>How a client waits.</summary>
internal enum CallerKind
{
    /// <summary>
    /// A thread of its own that blocks in the call. Byte arms: the server's thread blocks in its read too.
    /// </summary>
    [JsonStringEnumMemberName("blocking")]
    Blocking,

    /// <summary>A task on the thread pool that awaits. Byte arms: the server awaits its read too.</summary>
    [JsonStringEnumMemberName("async")]
    Async,
}
