namespace RpcOverShm.Perf.Peers;

/// <summary>One slice of load, as both processes saw it.</summary>
/// <param name="Client">The client's measurements, or those of all clients together.</param>
/// <param name="Server">The resources and messages of the server, lead-in included.</param>
internal sealed record SliceResult(LoadResult Client, PeerSample Server)
{
    /// <summary>The measurements of the first client.</summary>
    public required LoadResult First { get; init; }

    /// <summary>True if there is no server to count messages.</summary>
    public bool IsLocal { get; init; }

    /// <summary>Methods that the compilers of both processes have compiled meanwhile.</summary>
    public long CompiledMethods => Client.Used.CompiledMethods + Server.Used.CompiledMethods;

    /// <summary>Returns null if every byte and every message is accounted for, else the problem.</summary>
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

/// <summary>A measured process failed, did not answer in time or ended; the message has its stderr.</summary>
internal sealed class PeerException(string message) : Exception(message);
