using System.Collections;
using System.Collections.Concurrent;
using System.Collections.Immutable;
using System.Dynamic;
using Grpc.Core;
using MessagePack;
using MessagePack.Resolvers;
using RpcOverShm.MessagePack.Objects;
using RpcOverShm.MessagePack.Tests.Protos;
using static RpcOverShm.MessagePack.Tests.Objects.RuleSamples;

namespace RpcOverShm.MessagePack.Tests.Objects;

/// <summary>
/// Types and values that the package accepts and the codec refuses, because data would be lost or a peer could choose
/// too much.
/// </summary>
internal sealed class RuleTests
{
    private static IEnumerable<TestCaseData> Refused() =>
    [
        Case<Type>("a string or an enum"),
        Case<Hashtable>("Dictionary<TKey, TValue>"),
        Case<ArrayList>("List<T>"),
        Case<SortedList>("Dictionary<TKey, TValue>"),
        Case<ExpandoObject>("Dictionary<string, object>"),
        Case<IDictionary>("Dictionary<TKey, TValue>"),
        Case<IList>("List<T>"),
        Case<ICollection>("List<T>"),
        Case<IEnumerable>("List<T>"),
        Case<OwnDictionary>("Dictionary<TKey, TValue>"),
        Case<OwnDictionary<string, int>>("Dictionary<TKey, TValue>"),
        Case<OwnSet>("HashSet<T>"),
        Case<Forgetful>("Forgetful member:Forgotten); give each public member a [Key]"),
        Case<ConcreteUnion>("Union can only be interface or abstract class"),
        Case<Typeless>("a string or an enum"),
    ];

    [TestCaseSource(nameof(Refused))]
    public void Type_ThatBreaksARule_IsRefusedWhereverItIs(Func<string[]> refusals, string type, string advice)
    {
        string[] all = refusals();

        Assert.That(all, Has.All.Contains("'msgpack'").And.All.Contains(advice));
        // The error names the member. Within a message, this also covers types with a refused member of their own.
        Assert.That(all[1..], Has.All.Contains(".Held holds ").Or.All.Contains("Typeless.Anything"));
        Assert.That(all.Select(one => one.Split(advice).Length), Has.All.EqualTo(2), "It is said once.");
        Assert.That(all, Has.All.Contains(type));
    }

    [Test]
    public void Refusal_OfATypeInAMessage_IsOneSentence() => Assert.That(
        RefusalOf<Holder<List<Type>>>(),
        Is.EqualTo(
            $"The codec 'msgpack' can't take messages of type {typeof(Holder<List<Type>>)}: "
            + $"{typeof(Holder<List<Type>>)}.Held holds System.Type, which is written with the names of types, "
            + "by which a peer chooses what is made of its input; use a string or an enum."));

    [Test]
    public void Member_WithoutAForm_IsRefused() => Assert.That(
        RefusalOf<Holder<Plain>>(), Does.Contain(".Held holds ").And.Contains($"{nameof(Plain)}, which has no form"));

    [Test]
    public void Collections_ThatTheCodecTakes_AreReadAsTheyWere()
    {
        AssertTaken(new Dictionary<string, List<int[]>> { ["a"] = [[1]] });
        AssertTaken(new ConcurrentDictionary<long, int> { [5] = 1 });
        AssertTaken(ImmutableDictionary<Guid, int>.Empty.Add(Guid.Empty, 1));
        AssertTaken(new SortedDictionary<decimal, int> { [5] = 1 });
        AssertTaken(new SortedSet<decimal> { 5 });
        AssertTaken(new HashSet<DayOfWeek> { DayOfWeek.Friday });
        AssertTaken(new Dictionary<object, object> { ["a"] = 1 });
        AssertTaken(new BitArray(5));
        AssertTaken(new[] { (1, "a", (DateTime?)DateTime.UnixEpoch) });
    }

    [Test]
    public void FormatterOfOnesOwn_ForAMember_IsTaken()
    {
        Marshaller<Named> marshaller = Codec.Marshaller<Named>();

        Named read = Codec.Read(marshaller, Codec.Write(marshaller, new Named(typeof(int))));

        Assert.That(read.Type, Is.EqualTo(typeof(int)));
    }

    [Test]
    public void Member_OfATypeWithAGeneratedFormatter_IsRefused() =>
        Assert.That(RefusalOf<Sourced>(), Does.Contain("Sourced.Type holds System.Type"));

    [Test]
    public void FormatterOfAMember_WhereTheTypeHasAForeignFormatter_IsRefused()
    {
        var codec = new ShmMessagePackCodec(MessagePackSerializerOptions.Standard.WithResolver(
            CompositeResolver.Create(new NilFormatter<Typeless>(), new NilFormatter<Sourced>())));

        Assert.That(
            () => codec.CreateMarshaller<Typeless>(null!),
            Throws.InstanceOf<NotSupportedException>().With.Message.Contains("Typeless.Anything"));
        Assert.That(codec.CreateMarshaller<Sourced>(null!), Is.Not.Null);
    }

    [Test]
    public void FormatterOfTheTypesAuthor_InsideTheType_IsTaken() =>
        Assert.That(Codec.Marshaller<Authored>(), Is.Not.Null);

    [Test]
    public void Members_ThatAreNotPublic_CountWhereTheyAreWrittenOrRead()
    {
        var all = MessagePackSerializerOptions.Standard.WithResolver(StandardResolverAllowPrivate.Instance);
        Marshaller<Unseen> unseen = Codec.Marshaller<Unseen>();

        Assert.That(RefusalOf<Unwritten>(), Does.Contain("Unwritten.Given holds System.Type"));
        Assert.That(RefusalOf<Private>(), Does.Contain("Private.Type holds System.Type"));
        Assert.That(Codec.Hex(Codec.Write(unseen, new Unseen())), Is.EqualTo("90"));
        Assert.That(
            () => new ShmMessagePackCodec(all).CreateMarshaller<Unseen>(null!),
            Throws.InstanceOf<NotSupportedException>().With.Message.Contains("Unseen.Type holds System.Type"));
    }

    [Test]
    public void Override_ByNames_StandsForWhatItOverrides()
    {
        Marshaller<Overriding> marshaller = Codec.Marshaller<Overriding>();

        byte[] bytes = Codec.Write(marshaller, new Overriding { Type = typeof(int), Name = "n" });

        Assert.That(Codec.Hex(bytes), Is.EqualTo("81a44e616d65a16e"));
        Assert.That(ObjectType.MembersOf(typeof(Overriding), allowsPrivate: false).Count(), Is.EqualTo(1));
    }

    [Test]
    public void Null_OfAMemberWithItsOwnFormatter_IsCarried() =>
        Assert.That(Codec.Hex(Codec.Write(Codec.Marshaller<OwnNull>(), new OwnNull(null!))), Is.EqualTo("91c0"));

    [Test]
    public void ObjectsInObjects_AreEachLookedAtByTheirOwnType()
    {
        AssertNotWritten(new Holder<object>(new List<Dog>()), "[Union(0, typeof(Dog))]");
        AssertNotWritten(new Holder<object>(new List<IShape>()), "typeof(IShape)");
        AssertNotWritten(new Holder<object>((1, new Dictionary<string, Dog[]>())), "typeof(Dog)");
        AssertTaken<object>(new object[] { 1L, "a", new object[] { 2.5, DateTime.UnixEpoch } });
        Assert.That(ObjectType.DescribedIn(typeof(List<(Guid, DayOfWeek?, object[])>)), Is.Null);
    }

    [Test]
    public void FormatterOfOnesOwn_ThatHidesAType_IsRefusedWhenItWrites()
    {
        IFormatterResolver resolver = CompositeResolver.Create([new HidingFormatter()], [StandardResolver.Instance]);
        var codec = new ShmMessagePackCodec(MessagePackSerializerOptions.Standard.WithResolver(resolver));

        AssertNotWritten(new Plain(), "System.Type is written with the names of types", codec);
    }

    [Test]
    public void ClassBehindABaseType_IsRefusedWithAWordOfUnion()
    {
        const string Expected = "[Union(0, typeof(Dog))]";
        var dog = new Dog(4, "n");

        AssertNotWritten<Animal>(dog, Expected);
        AssertNotWritten(new Holder<Animal>(dog), Expected);
        AssertNotWritten(new Holder<List<Animal>>([new Animal(2), dog]), Expected);
        AssertNotWritten(new Holder<IReadOnlyDictionary<string, Animal>>(Map<Animal>(dog)), Expected);
        AssertNotWritten(new Holder<object>(dog), Expected);
        AssertNotWritten(new Holder<object>(new object[] { 1, new[] { dog } }), Expected);
        AssertNotWritten(new Holder<object>(Map<object>(dog)), Expected);
    }

    [Test]
    public void ClassThatAUnionDoesNotName_IsRefusedAndOthersAreRead()
    {
        Marshaller<Holder<IShape>> marshaller = Codec.Marshaller<Holder<IShape>>();
        byte[] circle = Codec.Write(marshaller, new Holder<IShape>(new Circle(5)));

        Assert.That(((Circle)Codec.Read(marshaller, circle).Held!).Radius, Is.EqualTo(5));
        AssertNotWritten(new Holder<IShape>(new Square()), "typeof(Square)");
    }

    [Test]
    public void ObjectThatIsAType_IsRefused() => AssertNotWritten(
        new Holder<object>(new object[] { typeof(int) }), "is written with the names of types");

    [Test]
    public void SealedType_WithoutAnythingToCheck_HasThePackagesFormatter()
    {
        var resolver = new CheckedResolver(StandardResolver.Instance);

        Assert.That(resolver.GetFormatter<Order>(), Is.SameAs(StandardResolver.Instance.GetFormatter<Order>()));
        Assert.That(resolver.GetFormatter<Animal>(), Is.InstanceOf<CheckedFormatter<Animal>>());
    }

    [Test]
    public void Null_WhereItsDeclarationDoesNotAllowIt_IsRefusedWithTheMember()
    {
        var nameless = new Dog(4, null!);

        AssertNotWritten(nameless, "Dog.Name is null");
        AssertNotWritten(new Holder<Dog[]>([new Dog(4, "n"), nameless]), "Dog.Name is null");
        AssertNotWritten<Dog>(null!, "The message is null");
        AssertNotWritten<Scalars>(null!, "The message is null");
    }

    [Test]
    public void Null_WhereItsDeclarationAllowsIt_IsCarried()
    {
        Marshaller<Dog> dogs = Codec.Marshaller<Dog>();

        Assert.That(Codec.Read(dogs, Codec.Write(dogs, new Dog(4, "n"))).Owner, Is.Null);
        AssertTaken<string?>(null);
        AssertTaken<Dog?>(null);
        AssertTaken<IShape?>(null);
        AssertTaken<List<string?>>([null, "a"]);
        Marshaller<Late> late = Codec.Marshaller<Late>();
        Assert.That(Codec.Read(late, Codec.Write(late, new Late())).Text, Is.EqualTo("late"));
    }

    private static Dictionary<string, T> Map<T>(T value) => new() { ["a"] = value };

    private static TestCaseData Case<T>(string advice)
        where T : class
    {
        Func<string[]> refusals = () =>
        [
            RefusalOf<T>(), RefusalOf<Holder<T>>(), RefusalOf<Holder<Holder<T>[]>>(),
            RefusalOf<Holder<List<T>>>(), RefusalOf<Holder<Dictionary<string, (int, T)>>>(),
        ];
        return new TestCaseData(refusals, $"{typeof(T)}", advice).SetArgDisplayNames(typeof(T).Name);
    }

    private static string RefusalOf<T>()
        where T : class
    {
        NotSupportedException refusal = Assert.Throws<NotSupportedException>(() => Codec.Marshaller<T>())!;
        Assert.That(refusal.InnerException, Is.Null);
        return refusal.Message;
    }

    private static void AssertTaken<T>(T value)
    {
        Marshaller<Holder<T>> marshaller = Codec.Marshaller<Holder<T>>();

        Holder<T> read = Codec.Read(marshaller, Codec.Write(marshaller, new Holder<T>(value)));

        Assert.That(read.Held, Is.EqualTo(value));
    }

    private static void AssertNotWritten<T>(T message, string expected, ShmMessagePackCodec? codec = null)
        where T : class
    {
        Marshaller<T> marshaller = (codec ?? ShmMessagePackCodec.Instance).CreateMarshaller<T>(null!)!;

        Assert.That(
            () => Codec.Write(marshaller, message),
            Throws.TypeOf<MessagePackSerializationException>()
                .With.Message.Contains(expected).And.InnerException.Null);
    }
}
