using MessagePack;

namespace RpcOverShm.MessagePack.Tests.Objects;

/// <summary>A handwritten message type.</summary>
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

    /// <summary>A nested order, for tests of any depth.</summary>
    [Key(5)]
    public Order? Before { get; set; }
}

/// <summary>A part of an order, with property names as keys.</summary>
[MessagePackObject(keyAsPropertyName: true)]
public sealed class OrderLine
{
    public string? Text { get; set; }

    public double Price { get; set; }
}

/// <summary>A message with any number of nodes of its own type, and a field of any type.</summary>
[MessagePackObject]
public sealed class Tree
{
    [Key(0)]
    public Tree?[]? Branches { get; set; }

    [Key(1)]
    public object? Fruit { get; set; }
}

/// <summary>Nested arrays of any depth, and a field of any type.</summary>
[MessagePackObject]
public sealed class Folder
{
    [Key(0)]
    public Folder[]? Folders { get; set; }

    [Key(1)]
    public object? Anything { get; set; }
}
