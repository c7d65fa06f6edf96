namespace RpcOverShm;

/// <summary>The cause of a <see cref="ShmTransportException"/>.</summary>
public enum ShmTransportError
{
    /// <summary>No server listens at the address.</summary>
    NotListening,

    /// <summary>The server did not answer in time.</summary>
    TimedOut,

    /// <summary>Another program than an RpcOverShm server listens at the address.</summary>
    NotThisProtocol,

    /// <summary>The two sides have no protocol version in common.</summary>
    VersionMismatch,

    /// <summary>A channel met a listener for streams, or a stream met a server of calls.</summary>
    PurposeMismatch,

    /// <summary>The peer's user is not trusted or not allowed, or its socket may not be opened.</summary>
    AccessDenied,

    /// <summary>
    /// The server refused the connection, or closed it during the handshake, or its ring exceeds Ring.MaxPeerCapacity.
    /// </summary>
    Refused,

    /// <summary>A live server, or another program, holds the address.</summary>
    AddressInUse,

    /// <summary>The operating system refused memory, a file or a socket.</summary>
    SystemError,
}
