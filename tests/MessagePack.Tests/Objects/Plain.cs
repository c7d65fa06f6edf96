namespace MessagePack.Tests.Objects;

/// <summary>A class as a map of its properties' names.</summary>
[MessagePackObject(keyAsPropertyName: true)]
public class Plain
{
    public int Count { get; set; }

    public string? Text { get; set; }

    [IgnoreMember]
    public int Hidden { get; set; }
}
