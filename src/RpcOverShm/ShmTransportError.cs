namespace RpcOverShm;

/// <summary>What went wrong in a <see cref="ShmTransportException"/>.</summary>
public enum ShmTransportError
{
    /// <summary>No server is at the address.</summary>
    NotListening,

    /// <summary>The server did not answer in time.</summary>
    TimedOut,

    /// <summary>What listens at the address is no RpcOverShm server.</summary>
    NotThisProtocol,

    /// <summary>The two sides have no version of the protocol in common.</summary>
    VersionMismatch,

    /// <summary>A channel met a listener for streams, or a stream met a server of calls.</summary>
    PurposeMismatch,

    /// <summary>The other side belongs to another user, or its socket may not be opened.</summary>
    AccessDenied,

    /// <summary>The server refused the connection, or closed it in the middle of the handshake.</summary>
    Refused,

    /// <summary>A live server, or another program, holds the address.</summary>
    AddressInUse,

    /// <summary>The operating system refused memory, a file or a socket.</summary>
    SystemError,
}
