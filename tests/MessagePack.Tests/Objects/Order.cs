namespace MessagePack.Tests.Objects;

/// <summary>A class as an array, with a gap and a member that is left out.</summary>
[MessagePackObject]
public class Order
{
    [Key(0)]
    public int Id { get; set; }

    [Key(1)]
    public string? Name { get; set; }

    [Key(3)]
    public List<Point>? Points { get; set; }

    [Key(4)]
#pragma warning disable CA1051 // That fields are written too is the point.
    public double Weight = 1.5;
#pragma warning restore CA1051

    [Key(5)]
    public Order? Next { get; set; }

    [IgnoreMember]
    public int Hidden { get; set; } = 7;
}
