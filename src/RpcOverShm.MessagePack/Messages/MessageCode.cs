using RpcOverShm.MessagePack.Wire;

namespace RpcOverShm.MessagePack.Messages;

/// <summary>What is done with messages of one type.</summary>
internal sealed record MessageCode<T>(
    Func<T> Create, Func<T, long> Size, WriteMessage<T> Write, MergeMessage<T> Merge)
    where T : class;

/// <summary>Writes a message as a map.</summary>
internal delegate void WriteMessage<in T>(ref MessageWriter writer, T message);

/// <summary>Reads the map of a message into it, over what it holds.</summary>
internal delegate void MergeMessage<in T>(ref MessageReader reader, T message);
