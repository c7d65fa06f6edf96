using System.Collections;
using System.Collections.Concurrent;
using System.Collections.ObjectModel;
using MessagePack.Tests.Fakes;

namespace MessagePack.Tests.Values;

/// <summary>Collections: arrays and maps of what they hold, in their order.</summary>
public class CollectionTests
{
    private static readonly int[] s_numbers = [1, 2, 300];

    private static readonly Dictionary<string, int> s_entries = new() { ["a"] = 1, ["b"] = 2 };

    private static IEnumerable<TestCaseData> Lists()
    {
        yield return Case(s_numbers);
        yield return Case(new List<int>(s_numbers));
        yield return Case<IList<int>>(s_numbers);
        yield return Case<ICollection<int>>(s_numbers);
        yield return Case<IEnumerable<int>>(s_numbers);
        yield return Case<IReadOnlyList<int>>(s_numbers);
        yield return Case<IReadOnlyCollection<int>>(s_numbers);
        yield return Case(new LinkedList<int>(s_numbers));
        yield return Case(new Queue<int>(s_numbers));
        yield return Case(new Stack<int>(s_numbers.Reverse()));
        yield return Case(new HashSet<int>(s_numbers));
        yield return Case<ISet<int>>(new HashSet<int>(s_numbers));
        yield return Case(new SortedSet<int>(s_numbers));
        yield return Case(new ObservableCollection<int>(s_numbers));
        yield return Case(new ReadOnlyCollection<int>(s_numbers));
        yield return Case(new ConcurrentQueue<int>(s_numbers));
        yield return Case(new ConcurrentStack<int>(s_numbers.Reverse()));
        yield return Case(new Bag { 1, 2, 300 });
    }

    private static IEnumerable<TestCaseData> Dictionaries()
    {
        yield return Case(s_entries);
        yield return Case<IDictionary<string, int>>(s_entries);
        yield return Case<IReadOnlyDictionary<string, int>>(s_entries);
        yield return Case(new ReadOnlyDictionary<string, int>(s_entries));
        yield return Case(new SortedDictionary<string, int>(s_entries));
        yield return Case(new SortedList<string, int>(s_entries));
        yield return Case(new Register { ["a"] = 1, ["b"] = 2 });
    }

    [TestCaseSource(nameof(Lists))]
    public void List_Serialized_IsAnArrayAndComesBack(IEnumerable copy, IEnumerable value, string written)
    {
        Assert.That(written, Is.EqualTo("930102cd012c"));
        Assert.That(copy, Is.EqualTo(value));
    }

    [TestCaseSource(nameof(Dictionaries))]
    public void Dictionary_Serialized_IsAMapAndComesBack(IEnumerable copy, IEnumerable value, string written)
    {
        Assert.That(written, Is.EqualTo("82a16101a16202"));
        Assert.That(copy, Is.EqualTo(value));
    }

    [Test]
    public void ConcurrentDictionary_Serialized_ComesBack()
    {
        Assert.That(Message.Copied(new ConcurrentDictionary<string, int>(s_entries)), Is.EquivalentTo(s_entries));
    }

    [Test]
    public void Key_ThatComesAgain_IsRefusedButInAConcurrentDictionary()
    {
        const string Again = "82 a161 01 a161 02";

        AssertRefused(Message.Deserialized<Dictionary<string, int>>);
        AssertRefused(Message.Deserialized<IReadOnlyDictionary<string, int>>);
        AssertRefused(Message.Deserialized<SortedDictionary<string, int>>);
        AssertRefused(Message.Deserialized<SortedList<string, int>>);
        AssertRefused(Message.Deserialized<Register>);
        Assert.That(
            Message.Deserialized<ConcurrentDictionary<string, int>>(Again),
            Is.EquivalentTo(new Dictionary<string, int> { ["a"] = 1 }));

        static void AssertRefused<T>(Func<string, T> read) =>
            Assert.That(() => read(Again), Throws.InstanceOf<MessagePackSerializationException>());
    }

    [Test]
    public void Collection_Null_IsNil()
    {
        Assert.That(Message.Serialized((List<string>?)null), Is.EqualTo("c0"));
        Assert.That(Message.Deserialized<List<string>?>("c0"), Is.Null);
        Assert.That(Message.Serialized((Dictionary<int, int>?)null), Is.EqualTo("c0"));
        Assert.That(Message.Deserialized<Dictionary<int, int>?>("c0"), Is.Null);
        Assert.That(Message.Deserialized<int[]?>("c0"), Is.Null);
        Assert.That(Message.Deserialized<Bag?>("c0"), Is.Null);
    }

    [Test]
    public void Collection_Empty_ComesBackEmpty()
    {
        Assert.That(Message.Copied(Array.Empty<string>()), Is.Empty);
        Assert.That(Message.Copied(new List<string>()), Is.Empty);
        Assert.That(Message.Copied(new Dictionary<string, string>()), Is.Empty);
    }

    [Test]
    public void Collection_OfCollections_ComesBack()
    {
        Dictionary<int, List<string?[]>> value = new() { [5] = [["a", null], []], [6] = [] };

        Assert.That(Message.Serialized(value), Is.EqualTo("82059292a161c0900690"));
        Assert.That(Message.Copied(value), Is.EqualTo(value));
        Assert.That(Message.Copied(value, Message.Untrusted), Is.EqualTo(value));
    }

    [Test]
    public void Grid_Serialized_HasItsLengthsAndItsElements()
    {
        int[,] grid = { { 1, 2, 3 }, { 4, 5, 6 } };
        string[,,] cube = { { { "a" }, { "b" } } };

        Assert.That(Message.Serialized(grid), Is.EqualTo("93020396010203040506"));
        Assert.That(Message.Copied(grid), Is.EqualTo(grid));
        Assert.That(Message.Copied(cube), Is.EqualTo(cube));
    }

    [TestCase("930203 9401020304")]
    [TestCase("93ff01 90")]
    [TestCase("93ce7fffffffce7fffffff 90")]
    [TestCase("920101")]
    public void Grid_WhoseLengthsAreNotItsElements_IsRefused(string hex)
    {
        Assert.That(() => Message.Deserialized<int[,]>(hex), Throws.InstanceOf<MessagePackSerializationException>());
    }

    [Test]
    public void Tuples_Serialized_AreArraysAndComeBack()
    {
        Assert.That(Message.Serialized((1, "a")), Is.EqualTo("9201a161"));
        Assert.That(Message.Copied((1, "a", 2.5)), Is.EqualTo((1, "a", 2.5)));
        Assert.That(Message.Serialized(Tuple.Create(1, "a")), Is.EqualTo("9201a161"));
        Assert.That(Message.Copied(Tuple.Create(1, "a")), Is.EqualTo(Tuple.Create(1, "a")));
        Assert.That(Message.Copied((1, 2, 3, 4, 5, 6, 7)), Is.EqualTo((1, 2, 3, 4, 5, 6, 7)));
        Assert.That(Message.Serialized(KeyValuePair.Create(1, "a")), Is.EqualTo("9201a161"));
        Assert.That(Message.Copied(KeyValuePair.Create(1, "a")), Is.EqualTo(KeyValuePair.Create(1, "a")));
    }

    [Test]
    public void Tuple_OfAnotherCount_IsRefused()
    {
        Assert.That(
            () => Message.Deserialized<(int, int)>("93010203"), Throws.InstanceOf<MessagePackSerializationException>());
        Assert.That(
            () => Message.Deserialized<KeyValuePair<int, int>>("9101"),
            Throws.InstanceOf<MessagePackSerializationException>());
    }

    [Test]
    public void Lazy_Serialized_IsItsValue()
    {
        Assert.That(Message.Serialized(new Lazy<int>(() => 5)), Is.EqualTo("05"));
        Assert.That(Message.Deserialized<Lazy<int>>("05").Value, Is.EqualTo(5));
    }

    private static TestCaseData Case<T>(T value) =>
        new TestCaseData(Message.Copied(value), value, Message.Serialized(value))
            .SetArgDisplayNames(typeof(T).ToString());
}
