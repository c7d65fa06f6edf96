using MessagePack;

namespace Publish.Attributed;

/// <summary>Messages in a class, whose formatters MessagePack's generator puts into a class of that name.</summary>
public static class Shop
{
    [Union(0, typeof(Account))]
    public interface IPayment;

    [MessagePackObject]
    public sealed class Order
    {
        [Key(0)]
        public string Name { get; set; } = "";

        [Key(1)]
        public List<Line> Lines { get; set; } = [];

        [Key(2)]
        public IPayment? Payment { get; set; }
    }

    [MessagePackObject]
    public sealed record Line([property: Key(0)] string Item, [property: Key(1)] int Count);
}
