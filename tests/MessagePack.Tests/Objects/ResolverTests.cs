using MessagePack.Formatters;
using MessagePack.Resolvers;
using MessagePack.Tests.Fakes;

namespace MessagePack.Tests.Objects;

/// <summary>Who finds the formatter.</summary>
public class ResolverTests
{
    private static readonly MessagePackSerializerOptions s_converting =
        MessagePackSerializerOptions.Standard.WithResolver(
            CompositeResolver.Create([new Converter()], [StandardResolver.Instance]));

    [Test]
    public void Composite_AskedForAType_PrefersItsFormatters()
    {
        Assert.That(Message.Hex(MessagePackSerializer.Serialize(5, s_converting)), Is.EqualTo("a135"));
        Assert.That(Message.Hex(MessagePackSerializer.Serialize("5", s_converting)), Is.EqualTo("a135"));
        Assert.That(Message.Copied(new List<int> { 1, 2 }, s_converting), Is.EqualTo(new[] { 1, 2 }));
    }

    [Test]
    public void Composite_OfResolvers_TakesTheFirstThatAnswers()
    {
        IFormatterResolver resolver = CompositeResolver.Create(
            AttributeFormatterResolver.Instance, BuiltinResolver.Instance);

        Assert.That(resolver.GetFormatter<Temperature>(), Is.InstanceOf<TemperatureFormatter>());
        Assert.That(resolver.GetFormatter<int>(), Is.SameAs(BuiltinResolver.Instance.GetFormatter<int>()));
        Assert.That(resolver.GetFormatter<Order>(), Is.Null);
        Assert.That(
            CompositeResolver.Create(new Converter()).GetFormatter<int>(), Is.InstanceOf<Converter>());
    }

    [Test]
    public void Composite_WithoutAFormatter_SaysWhichTypeItIs()
    {
        IFormatterResolver resolver = CompositeResolver.Create(new Converter());

        Assert.That(
            resolver.GetFormatterWithVerify<string>,
            Throws.InstanceOf<FormatterNotRegisteredException>().With.Message.Contains("System.String"));
    }

    [Test]
    public void Standard_AskedAtRunTime_AnswersTheSame()
    {
        Assert.That(
            StandardResolver.Instance.GetFormatterDynamic(typeof(Order)),
            Is.SameAs(StandardResolver.Instance.GetFormatter<Order>()).And.InstanceOf<IMessagePackFormatter<Order?>>());
        Assert.That(StandardResolver.Instance.GetFormatterDynamic(typeof(Unknown)), Is.Null);
    }

    [Test]
    public void Builtin_AskedForObjectsWithAttributes_HasNone()
    {
        Assert.That(BuiltinResolver.Instance.GetFormatter<Order>(), Is.Null);
        Assert.That(BuiltinResolver.Instance.GetFormatter<int[]>(), Is.Not.Null);
        Assert.That(BuiltinResolver.Instance.GetFormatter<List<string>>(), Is.Not.Null);
        Assert.That(BuiltinResolver.Instance.GetFormatter<DateTime?>(), Is.Not.Null);
        Assert.That(AttributeFormatterResolver.Instance.GetFormatter<int>(), Is.Null);
    }
}
