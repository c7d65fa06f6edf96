using RpcOverShm.MessagePack.Wire;

namespace RpcOverShm.MessagePack.Messages;

/// <summary>The functions that create, measure, write and read messages of one type.</summary>
internal sealed record MessageCode<T>(
    Func<T> Create, Func<T, long> Size, WriteMessage<T> Write, MergeMessage<T> Merge)
    where T : class;

/// <summary>Writes a message as a map.</summary>
internal delegate void WriteMessage<in T>(ref MessageWriter writer, T message);

/// <summary>Reads a map into a message, over the fields that it already has.</summary>
internal delegate void MergeMessage<in T>(ref MessageReader reader, T message);
