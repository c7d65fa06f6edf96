using System.Buffers;
using System.Collections;
using System.Collections.Concurrent;
using System.Numerics;
using System.Text;
using MessagePack.Tests.Objects;
using MessagePack.Tests.Values;

namespace MessagePack.Tests.BadInput;

/// <summary>A message of every shape, to be cut and mutated.</summary>
internal static class MessageSamples
{
    internal static MessageSample[] All { get; } =
    [
        MessageSample.Of(123456),
        MessageSample.Of(-1L),
        MessageSample.Of(1.5),
        MessageSample.Of("a string that is longer than thirty-one bytes, äöü€"),
        MessageSample.Of(new byte[40]),
        MessageSample.Of(Guid.Parse("01234567-89ab-cdef-0123-456789abcdef")),
        MessageSample.Of(12.5m),
        MessageSample.Of(new DateTime(2020, 1, 2, 3, 4, 5, 678, DateTimeKind.Utc)),
        MessageSample.Of(new DateTime(1890, 1, 2, 3, 4, 5, DateTimeKind.Utc)),
        MessageSample.Of(new DateTimeOffset(2020, 1, 2, 3, 4, 5, TimeSpan.FromHours(-2))),
        MessageSample.Of(Enumerable.Range(0, 40).Select(i => i * i * i).ToArray()),
        MessageSample.Of(new List<string?> { "a", null, "", "bcd" }),
        MessageSample.Of(new HashSet<long> { 1, long.MaxValue, long.MinValue }),
        MessageSample.Of(Enumerable.Range(0, 20).ToDictionary(i => $"key {i}", i => i * 0.5)),
        MessageSample.Of(new Dictionary<int, List<Pair>> { [5] = [new Pair(1, "b"), new Pair(2, null)] }),
        MessageSample.Of<(int, string, Colour?)>((1, "x", Colour.Green)),
        MessageSample.Of(new int[,] { { 1, 2 }, { 3, 4 } }),
        MessageSample.Of(new Order { Id = 5, Name = "n", Points = [new Point { X = 1 }], Next = new Order { Id = 6 } }),
        MessageSample.Of(new Person { Name = "name", Age = 70000 }),
        MessageSample.Of<IShape>(new Square(5, new Square(6, new Circle(7)))),
        MessageSample.Of(new InitOnly { Number = 9, Text = "t" }),
        MessageSample.Of(BigInteger.Pow(-7, 70)),
        MessageSample.Of(new Complex(1.5, -2)),
        MessageSample.Of(new Version(1, 2, 3)),
        MessageSample.Of(new Uri("http://localhost/a/../b?c")),
        MessageSample.Of(new BitArray(20, true)),
        MessageSample.Of((Half)1.5),
        MessageSample.Of(new Rune('r')),
        MessageSample.Of(TimeSpan.FromHours(5)),
        MessageSample.Of(new DateOnly(2020, 1, 2)),
        MessageSample.Of(new TimeOnly(3, 4, 5)),
        MessageSample.Of(new ReadOnlySequence<byte>(new byte[20])),
        MessageSample.Of(new int[,,] { { { 1 }, { 2 } } }),
        MessageSample.Of(new Stack<Guid>([Guid.Empty, Guid.AllBitsSet])),
        MessageSample.Of(new SortedDictionary<int, string> { [2] = "b", [1] = "a" }),
        MessageSample.Of(new ConcurrentDictionary<string, int> { ["a"] = 1 }),
        MessageSample.Of(new Ledger { [1] = 2, [3] = 4 }),
        MessageSample.Of(new Bag { 1, 2, 300 }),
        MessageSample.Of(KeyValuePair.Create<string, decimal?>("k", 1)),
        MessageSample.Of(new Lazy<float>(() => 2.5f)),
        MessageSample.Of(Tuple.Create('c', (sbyte)-5, (ushort)70, 1L, 2UL, 3U, (short)-300)),
        MessageSample.Of(new Constructed("name") { Size = 5 }),
        MessageSample.Of<object>(new object?[] { (byte)1, "a", null, new Dictionary<object, object> { ["k"] = 1.5 } }),
    ];
}
