using MessagePack;

namespace RpcOverShm.FunctionalTests.Codecs;

/// <summary>A message that only MessagePack serialises. It is public, because generated formatters see it.</summary>
[MessagePackObject]
public sealed class Card
{
    [Key(0)]
    public string Name { get; set; } = "";

    [Key(1)]
    public int Year { get; set; }
}
