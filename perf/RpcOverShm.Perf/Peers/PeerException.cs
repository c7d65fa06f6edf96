namespace RpcOverShm.Perf.Peers;

/// <summary>
/// A measured process failed, did not answer in time or ended; the message has what it wrote to stderr.
/// </summary>
internal sealed class PeerException(string message) : Exception(message);
