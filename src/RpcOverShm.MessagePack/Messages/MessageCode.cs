namespace RpcOverShm.MessagePack.Messages;

/// <summary>What is done with messages of one type.</summary>
internal sealed record MessageCode<T>(
    Func<T> Create, Func<T, long> Size, WriteMessage<T> Write, MergeMessage<T> Merge)
    where T : class;
