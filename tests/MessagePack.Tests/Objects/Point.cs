namespace MessagePack.Tests.Objects;

/// <summary>A struct as an array.</summary>
[MessagePackObject]
public struct Point : IEquatable<Point>
{
    [Key(0)]
    public int X { get; set; }

    [Key(1)]
    public int Y { get; set; }

    public static bool operator ==(Point left, Point right) => left.Equals(right);

    public static bool operator !=(Point left, Point right) => !left.Equals(right);

    public readonly bool Equals(Point other) => X == other.X && Y == other.Y;

    public readonly override bool Equals(object? obj) => obj is Point other && Equals(other);

    public readonly override int GetHashCode() => HashCode.Combine(X, Y);
}
