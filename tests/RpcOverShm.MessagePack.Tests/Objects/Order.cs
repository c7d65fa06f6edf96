using MessagePack;

namespace RpcOverShm.MessagePack.Tests.Objects;

/// <summary>A message that nobody generated.</summary>
[MessagePackObject]
public sealed class Order
{
    public static Order Sample => new()
    {
        Id = 300,
        Name = "name",
        Lines = [new OrderLine { Text = "a", Price = 1.5 }, new OrderLine { Text = "b", Price = -2 }],
        Notes = new Dictionary<string, int> { ["x"] = 1, ["y"] = -1 },
    };

    [Key(0)]
    public int Id { get; set; }

    [Key(1)]
    public string? Name { get; set; }

    [Key(3)]
    public List<OrderLine>? Lines { get; set; }

    [Key(4)]
    public Dictionary<string, int>? Notes { get; set; }

    /// <summary>Another one, for as deep as one likes.</summary>
    [Key(5)]
    public Order? Before { get; set; }
}

/// <summary>A part of an order, by names.</summary>
[MessagePackObject(keyAsPropertyName: true)]
public sealed class OrderLine
{
    public string? Text { get; set; }

    public double Price { get; set; }
}
