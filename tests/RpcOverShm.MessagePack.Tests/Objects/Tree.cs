using MessagePack;

namespace RpcOverShm.MessagePack.Tests.Objects;

/// <summary>A message with any number of nodes of its own type, and a field of any type.</summary>
[MessagePackObject]
public sealed class Tree
{
    [Key(0)]
    public Tree?[]? Branches { get; set; }

    [Key(1)]
    public object? Fruit { get; set; }
}

/// <summary>Nested arrays of any depth, and a field of any type.</summary>
[MessagePackObject]
public sealed class Folder
{
    [Key(0)]
    public Folder[]? Folders { get; set; }

    [Key(1)]
    public object? Anything { get; set; }
}
