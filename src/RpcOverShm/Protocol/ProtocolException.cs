namespace RpcOverShm.Protocol;

/// <summary>A protocol violation by the peer. It always closes the connection and affects no other.</summary>
internal sealed class ProtocolException(string message) : Exception(message);
