namespace MessagePack.Tests.Objects;

/// <summary>A positional record as an array.</summary>
[MessagePackObject]
public record Pair([property: Key(0)] int First, [property: Key(1)] string? Second);
