namespace RpcOverShm.Protocol;

/// <summary>
/// Why a server refused a connection. The numbers are on the wire; unknown ones are shown as they are.
/// </summary>
internal enum RefusalReason : ushort
{
    /// <summary>No common protocol version.</summary>
    Version = 1,

    /// <summary>The server serves calls and the client wants a byte stream, or the reverse.</summary>
    Purpose = 2,

    /// <summary>The hello or its descriptor was not acceptable.</summary>
    BadHello = 3,

    /// <summary>The server is stopping.</summary>
    Stopping = 4,

    /// <summary>The server could not make its half of the connection, for instance for want of memory.</summary>
    NoResources = 5,

    /// <summary>The client's user may not connect.</summary>
    AccessDenied = 6,

    /// <summary>Sent when an open connection is closed because the peer broke the protocol.</summary>
    Violation = 7,
}
