namespace RpcOverShm;

/// <summary>
/// How a <see cref="ShmChannel"/> stands to its server: the states of gRPC's connectivity semantics
/// (doc/connectivity-semantics-and-api.md of gRPC).
/// </summary>
public enum ShmConnectivityState
{
    /// <summary>
    /// There is no connection, and none is being made. A call, or <see cref="ShmChannel.ConnectAsync"/>, leaves this
    /// state.
    /// </summary>
    Idle,

    /// <summary>A connection is being made. Calls wait for it.</summary>
    Connecting,

    /// <summary>There is a connection.</summary>
    Ready,

    /// <summary>
    /// The last attempt has failed; the next one follows by itself. Calls that do not wait for ready fail at once;
    /// where nobody listened, which is seen in microseconds, they look once more before they do.
    /// </summary>
    TransientFailure,

    /// <summary>The channel was shut down. Final.</summary>
    Shutdown,
}
