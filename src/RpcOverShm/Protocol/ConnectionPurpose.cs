namespace RpcOverShm.Protocol;

/// <summary>What the client wants of a connection. The numbers are on the wire.</summary>
internal enum ConnectionPurpose : byte
{
    /// <summary>Many RPC calls.</summary>
    Calls = 1,

    /// <summary>One duplex stream of bytes.</summary>
    ByteStream = 2,
}
