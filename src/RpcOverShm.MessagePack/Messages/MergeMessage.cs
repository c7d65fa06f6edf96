using RpcOverShm.MessagePack.Wire;

namespace RpcOverShm.MessagePack.Messages;

/// <summary>Reads the map of a message into it, over what it holds.</summary>
internal delegate void MergeMessage<in T>(ref MessageReader reader, T message);
