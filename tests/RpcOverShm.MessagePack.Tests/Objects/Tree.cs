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

/// <summary>Arrays of arrays, as deep as one likes, and whatever else.</summary>
[MessagePackObject]
public sealed class Folder
{
    [Key(0)]
    public Folder[]? Folders { get; set; }

    [Key(1)]
    public object? Anything { get; set; }
}
