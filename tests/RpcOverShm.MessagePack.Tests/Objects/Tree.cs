using MessagePack;

namespace RpcOverShm.MessagePack.Tests.Objects;

/// <summary>What holds any number of its own kind, and whatever else there is.</summary>
[MessagePackObject]
public sealed class Tree
{
    [Key(0)]
    public Tree?[]? Branches { get; set; }

    [Key(1)]
    public object? Fruit { get; set; }
}
