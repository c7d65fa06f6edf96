using System.Collections;
using MessagePack.Tests.Fakes;
using MessagePack.Tests.Objects;
using MessagePack.Tests.Values;

namespace MessagePack.Tests.BadInput;

/// <summary>Keys of messages that are not trusted are hashed so that nobody can make them collide.</summary>
public class HashTests
{
    private const int Many = 20_000;

    private static readonly MessagePackSecurity s_untrusted = MessagePackSecurity.UntrustedData;

    private static long[] CollidingKeys { get; } =
        [.. Enumerable.Range(0, Many).Select(i => ((long)i << 32) | (uint)i)];

    [Test]
    public void Keys_ThatCollideByDefault_DoNotWhenUntrusted()
    {
        IEqualityComparer<long> trusted = MessagePackSecurity.TrustedData.GetEqualityComparer<long>();
        IEqualityComparer<long> untrusted = s_untrusted.GetEqualityComparer<long>();

        Assert.That(CollidingKeys.Select(trusted.GetHashCode).Distinct().Count(), Is.EqualTo(1));
        Assert.That(CollidingKeys.Select(untrusted.GetHashCode).Distinct().Count(), Is.GreaterThan(Many * 9 / 10));
    }

    [Test]
    public void Flood_OfCollidingKeys_IsReadIntoADictionaryAndASet()
    {
        Dictionary<long, int> entries = CollidingKeys.ToDictionary(key => key, _ => 1);

        Assert.That(Message.Copied(entries, Message.Untrusted), Has.Count.EqualTo(Many));
        Assert.That(Message.Copied(CollidingKeys.ToHashSet(), Message.Untrusted), Has.Count.EqualTo(Many));
        Assert.That(
            MessagePackSerializer.Deserialize<object>(MessagePackSerializer.Serialize(entries), Message.Untrusted),
            Has.Count.EqualTo(Many));
    }

    [Test]
    public void Dictionary_OfOnesOwn_ComparesAsItIsTold()
    {
        var entries = new Ledger { [1] = 2 };

        Ledger untrusted = Message.Copied(entries, Message.Untrusted);
        Assert.That(untrusted, Is.EqualTo(entries));
        Assert.That(CollidingKeys.Select(untrusted.Comparer.GetHashCode).Distinct().Count(), Is.GreaterThan(1));
        Assert.That(Message.Copied(entries).Comparer, Is.SameAs(EqualityComparer<long>.Default));
    }

    [Test]
    public void SortedDictionary_OfKeysThatAreNotHashed_IsReadThoughUntrusted()
    {
        var dictionary = new SortedDictionary<Version, int> { [new Version(1, 2)] = 3, [new Version(0, 1)] = 4 };
        var list = new SortedList<Version, int>(dictionary);

        Assert.That(Message.Copied(dictionary, Message.Untrusted), Is.EqualTo(dictionary));
        Assert.That(Message.Copied(list, Message.Untrusted), Is.EqualTo(list));
    }

    [Test]
    public void Comparers_OfKnownTypes_HashEqualValuesAlike()
    {
        AssertHashes(true, true, false);
        AssertHashes('a', 'a', 'b');
        AssertHashes((sbyte)-1, (sbyte)-1, (sbyte)1);
        AssertHashes((byte)1, (byte)1, (byte)2);
        AssertHashes((short)-1, (short)-1, (short)1);
        AssertHashes((ushort)1, (ushort)1, (ushort)2);
        AssertHashes(-1, -1, 1);
        AssertHashes(1u, 1u, 2u);
        AssertHashes(-1L, -1L, 1L);
        AssertHashes(1ul, 1ul, 2ul);
        AssertHashes(0f, -0f, 1f);
        AssertHashes(0.0, -0.0, 1.0);
        AssertHashes(double.NaN, -double.NaN, 1.0);
        AssertHashes("ab", string.Concat("a", "b"), "ba");
        AssertHashes(new Guid(1, 2, 3, new byte[8]), new Guid(1, 2, 3, new byte[8]), Guid.Empty);
        AssertHashes(
            new DateTime(5, DateTimeKind.Utc), new DateTime(5, DateTimeKind.Local), new DateTime(6, DateTimeKind.Utc));
        AssertHashes(
            new DateTimeOffset(2020, 1, 1, 2, 0, 0, TimeSpan.FromHours(2)),
            new DateTimeOffset(2020, 1, 1, 0, 0, 0, TimeSpan.Zero),
            DateTimeOffset.UnixEpoch);
        AssertHashes(Colour.Red, Colour.Red, Colour.Green);
        AssertHashes(SmallColour.Last, SmallColour.Last, SmallColour.None);
        AssertHashes(LargeColour.Last, LargeColour.Last, LargeColour.None);
        AssertHashes<object>("ab", string.Concat("a", "b"), 5);
    }

    [Test]
    public void Comparer_OfObjects_HashesWhatItKnows()
    {
        IEqualityComparer comparer = s_untrusted.GetEqualityComparer();

        Assert.That(comparer.GetHashCode(string.Concat("a", "b")), Is.EqualTo(comparer.GetHashCode("ab")));
        Assert.That(comparer.Equals("ab", string.Concat("a", "b")), Is.True);
    }

    [Test]
    public void Comparers_OfUnknownTypes_AreRefused()
    {
        Assert.That(s_untrusted.GetEqualityComparer<Point>, Throws.InstanceOf<TypeAccessException>());
        Assert.That(s_untrusted.GetEqualityComparer<(int, int)>, Throws.InstanceOf<TypeAccessException>());
        Assert.That(MessagePackSecurity.TrustedData.GetEqualityComparer<Point>, Throws.Nothing);
    }

    [Test]
    public void Dictionary_OfUnknownKeys_IsReadOnlyWhenTrusted()
    {
        var value = new Dictionary<Point, int> { [new Point { X = 1 }] = 2 };

        Assert.That(Message.Copied(value), Is.EqualTo(value));
        Assert.That(
            () => Message.Copied(value, Message.Untrusted),
            Throws.InstanceOf<MessagePackSerializationException>()
                .With.InnerException.InstanceOf<TypeAccessException>());
    }

    private static void AssertHashes<T>(T value, T same, T other)
    {
        IEqualityComparer<T> comparer = s_untrusted.GetEqualityComparer<T>();

        Assert.That(comparer.Equals(value, same), Is.True, $"{typeof(T)}");
        Assert.That(comparer.GetHashCode(value!), Is.EqualTo(comparer.GetHashCode(same!)), $"{typeof(T)}");
        Assert.That(comparer.Equals(value, other), Is.False, $"{typeof(T)}");
        // One in four thousand million pairs hashes alike by chance.
        Assert.That(comparer.GetHashCode(value!), Is.Not.EqualTo(comparer.GetHashCode(other!)), $"{typeof(T)}");
    }
}
