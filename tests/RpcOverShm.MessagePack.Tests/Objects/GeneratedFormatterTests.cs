using Grpc.Core;
using MessagePack;
using MessagePack.Formatters;
using Publish.Attributed;
using RpcOverShm.MessagePack.Objects;

namespace RpcOverShm.MessagePack.Tests.Objects;

/// <summary>
/// Formatters in the form that MessagePack's source generator gives them. <c>tests/Publish/run</c> uses the same ones
/// trimmed and with Native AOT.
/// </summary>
internal sealed class GeneratedFormatterTests
{
    [Test]
    public void Formatter_ThatWasGenerated_IsNotTheUsersOwn()
    {
        AssertGenerated<Shop.Order>("OrderFormatter", "Shop");
        AssertGenerated<Shop.Line>("LineFormatter", "Shop");
        AssertGenerated<Shop.IPayment>("IPaymentFormatter", "Shop");
        AssertGenerated<Account>("AccountFormatter", "Account");
    }

    [Test]
    public void Message_WithGeneratedFormatters_IsReadAsItWas()
    {
        Marshaller<Shop.Order> marshaller = Codec.Marshaller<Shop.Order>();
        var order = new Shop.Order
        {
            Name = "tea",
            Lines = [new Shop.Line("cake", 2)],
            Payment = new Account { Number = 4711 },
        };

        Shop.Order read = Codec.Read(marshaller, Codec.Write(marshaller, order));

        Assert.That(read.Name, Is.EqualTo("tea"));
        Assert.That(read.Lines, Is.EqualTo([new Shop.Line("cake", 2)]));
        Assert.That((read.Payment as Account)?.Number, Is.EqualTo(4711));
    }

    [Test]
    public void NullOfAMember_IsRefusedAsWithOtherFormatters()
    {
        Marshaller<Shop.Order> marshaller = Codec.Marshaller<Shop.Order>();

        Assert.That(
            () => Codec.Write(marshaller, new Shop.Order { Name = null! }),
            Throws.TypeOf<MessagePackSerializationException>().With.Message.Contains("Shop+Order.Name is null"));
    }

    private static void AssertGenerated<T>(string name, string outer)
    {
        IMessagePackFormatter<T>? formatter = MessagePackSerializerOptions.Standard.Resolver.GetFormatter<T>();

        Assert.That((formatter?.GetType().Name, formatter?.GetType().DeclaringType?.Name), Is.EqualTo((name, outer)));
        Assert.That(FormatterRules.IsOnesOwn(formatter!.GetType(), typeof(T)), Is.False);
    }
}
