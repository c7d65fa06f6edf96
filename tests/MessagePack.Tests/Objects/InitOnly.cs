namespace MessagePack.Tests.Objects;

/// <summary>A record as a map whose members can be set only when it is made.</summary>
[MessagePackObject(keyAsPropertyName: true)]
public record InitOnly
{
    public int Number { get; init; }

    public string? Text { get; init; }
}
