namespace RpcOverShm.Protocol;

/// <summary>The reason of a refusal, with its value on the wire. An unknown value is a refusal too.</summary>
internal enum RefusalReason : ushort
{
    /// <summary>The two sides have no common protocol version.</summary>
    Version = 1,

    /// <summary>The server serves calls and the client requests a byte stream, or the reverse.</summary>
    Purpose = 2,

    /// <summary>The hello or one of its handles is invalid.</summary>
    BadHello = 3,

    /// <summary>The server is stopping.</summary>
    Stopping = 4,

    /// <summary>The server could not create its half of the connection, for example for lack of memory.</summary>
    NoResources = 5,

    /// <summary>The client's user is not allowed to connect.</summary>
    AccessDenied = 6,

    /// <summary>The sender closes an open connection because of the peer's protocol violation.</summary>
    Violation = 7,

    /// <summary>A limit of the server is reached; a later attempt may succeed. The text names the limit.</summary>
    Full = 8,
}
