using MessagePack;

namespace Publish.Attributed;

/// <summary>A class without a generated formatter.</summary>
[MessagePackObject]
public sealed class Forgotten
{
    [Key(0)]
    public string Text { get; set; } = "";
}
