namespace RpcOverShm.Perf.Peers;

/// <summary>One slice of load, as both processes saw it.</summary>
/// <param name="Client">What the client measured.</param>
/// <param name="Server">What the server used and served, lead-in included.</param>
internal sealed record SliceResult(LoadResult Client, PeerSample Server)
{
    /// <summary>True when no server took part, so that none has counted.</summary>
    public bool IsLocal { get; init; }

    /// <summary>Methods that the compilers of both processes have compiled meanwhile.</summary>
    public long CompiledMethods => Client.Used.CompiledMethods + Server.Used.CompiledMethods;

    /// <summary>Null when every byte and every message is accounted for, else what is wrong.</summary>
    public string? Problem()
    {
        long wrong = Client.WrongBytes + Server.WrongBytes;
        return wrong != 0
            ? $"{Client.WrongBytes} bytes reached the client wrong and {Server.WrongBytes} the server"
            : !IsLocal && Client.All != Server.Messages
                ? $"the client counts {Client.All} messages and the server {Server.Messages}"
                : null;
    }
}

/// <summary>
/// A measured process failed, did not answer in time or ended; the message has what it wrote to stderr.
/// </summary>
internal sealed class PeerException(string message) : Exception(message);
