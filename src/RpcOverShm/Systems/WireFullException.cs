namespace RpcOverShm.Systems;

/// <summary>A message was not sent, because the peer leaves so many unread that the wire has no room.</summary>
internal sealed class WireFullException(string message, int error) : IOException(message, error);
