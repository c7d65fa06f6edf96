using RpcOverShm.Perf.Peer.Loads;
using RpcOverShm.Perf.Peer.Recording;

namespace RpcOverShm.Perf.Peers;

/// <summary>One slice of load, as both processes saw it.</summary>
/// <param name="Client">What the client measured.</param>
/// <param name="ServerUsed">What the server used, lead-in included.</param>
/// <param name="ServerMessages">What the server served, lead-in included.</param>
/// <param name="ServerWrongBytes">Bytes that reached the server wrong.</param>
internal sealed record SliceResult(
    LoadResult Client, ResourceSample ServerUsed, long ServerMessages, long ServerWrongBytes)
{
    /// <summary>Null when every byte and every message is accounted for, else what is wrong.</summary>
    public string? Problem()
    {
        long wrong = Client.WrongBytes + ServerWrongBytes;
        return wrong != 0
            ? $"{Client.WrongBytes} bytes reached the client wrong and {ServerWrongBytes} the server"
            : Client.All != ServerMessages
                ? $"the client counts {Client.All} messages and the server {ServerMessages}"
                : null;
    }
}
