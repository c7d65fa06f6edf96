using MessagePack;

namespace RpcOverShm.MessagePack.Tests.Objects;

/// <summary>Arrays of arrays, as deep as one likes, and whatever else.</summary>
[MessagePackObject]
public sealed class Folder
{
    [Key(0)]
    public Folder[]? Folders { get; set; }

    [Key(1)]
    public object? Anything { get; set; }
}
