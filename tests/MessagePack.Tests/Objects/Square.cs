namespace MessagePack.Tests.Objects;

[MessagePackObject(keyAsPropertyName: true)]
public record Square(int Size, IShape? Inner) : IShape;
