using RpcOverShm.MessagePack.Wire;

namespace RpcOverShm.MessagePack.Messages;

/// <summary>Writes a message as a map.</summary>
internal delegate void WriteMessage<in T>(ref MessageWriter writer, T message);
