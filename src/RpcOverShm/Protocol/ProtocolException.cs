namespace RpcOverShm.Protocol;

/// <summary>
/// The peer sent something that the protocol does not allow. Always ends the connection, and nothing else.
/// </summary>
internal sealed class ProtocolException(string message) : Exception(message);
