namespace RpcOverShm.Calls;

/// <summary>A message of this side is larger than this side may send. Ends its call only.</summary>
internal sealed class MessageTooLargeException()
    : Exception("Sending message exceeds the maximum configured message size.");
