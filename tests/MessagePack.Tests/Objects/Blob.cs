namespace MessagePack.Tests.Objects;

/// <summary>A shape that the union does not know.</summary>
public record Blob(int Size) : IShape;
