namespace MessagePack.Tests.Objects;

[MessagePackObject]
public record Circle([property: Key(0)] int Size) : IShape;
