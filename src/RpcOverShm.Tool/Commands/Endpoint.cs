namespace RpcOverShm.Tool.Commands;

/// <summary>A server's socket in the runtime directory, alive or left by a server that has died.</summary>
/// <param name="Address">The address that clients use.</param>
/// <param name="SocketPath">The path of the socket.</param>
/// <param name="IsAlive">Whether a process has the socket.</param>
/// <param name="Started">When the server began to listen.</param>
internal sealed record Endpoint(string Address, string SocketPath, bool IsAlive, DateTimeOffset Started)
{
    /// <summary>The id of the server's process as it has written it; null if there is none.</summary>
    public int? ProcessId { get; init; }

    /// <summary>The version of the server's library; null if the server has not told it.</summary>
    public string? Version { get; init; }

    /// <summary>The name of that process; null if there is none here, as for another container's.</summary>
    public string? Process { get; init; }

    /// <summary>The number of open connections; null if the system does not tell, as for another container's.</summary>
    public int? Connections { get; init; }
}
