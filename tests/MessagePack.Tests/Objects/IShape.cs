namespace MessagePack.Tests.Objects;

/// <summary>One of two shapes.</summary>
[Union(0, typeof(Circle))]
[Union(7, typeof(Square))]
public interface IShape
{
    int Size { get; }
}
