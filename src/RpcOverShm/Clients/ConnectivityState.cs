namespace RpcOverShm.Clients;

/// <summary>How a channel stands to its server; the states of gRPC's connectivity semantics.</summary>
internal enum ConnectivityState
{
    /// <summary>No connection, and nobody has asked for one.</summary>
    Idle,

    /// <summary>A connection is being made.</summary>
    Connecting,

    /// <summary>There is a connection that takes calls.</summary>
    Ready,

    /// <summary>The last attempt has failed; the next one follows.</summary>
    TransientFailure,

    /// <summary>The channel was shut down. Final.</summary>
    Shutdown,
}
