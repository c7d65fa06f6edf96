using MessagePack;
using MessagePack.Formatters;
using MessagePack.Internal;
using Messages = Publish.Attributed;

[assembly: GeneratedAssemblyMessagePackResolver(typeof(Publish.Attributed.GeneratedMessagePackResolver), 3, 1)]

namespace Publish.Attributed;

/// <summary>
/// A resolver that is written by hand in the form that MessagePack's source generator gives it: an attribute of the
/// assembly names it, and the formatters are inside, in classes with the names of namespaces and outer classes.
/// </summary>
internal sealed class GeneratedMessagePackResolver : IFormatterResolver
{
    // MessagePack finds the field by its name.
    public static readonly IFormatterResolver Instance = new GeneratedMessagePackResolver();

    public IMessagePackFormatter<T>? GetFormatter<T>() => Cache<T>.Formatter;

    private static object? Make(Type type) =>
        type == typeof(Messages.Shop.Order) ? new Publish.Attributed.Shop.OrderFormatter()
        : type == typeof(Messages.Shop.Line) ? new Publish.Attributed.Shop.LineFormatter()
        : type == typeof(Messages.Shop.IPayment) ? new Publish.Attributed.Shop.IPaymentFormatter()
        : type == typeof(List<Messages.Shop.Line>) ? new ListFormatter<Messages.Shop.Line>()
        : type == typeof(Account) ? new Account.AccountFormatter()
        : null;

    private static class Cache<T>
    {
        public static readonly IMessagePackFormatter<T>? Formatter = (IMessagePackFormatter<T>?)Make(typeof(T));
    }

    private static class Publish
    {
        internal static class Attributed
        {
            internal static class Shop
            {
                internal sealed class OrderFormatter : IMessagePackFormatter<Messages.Shop.Order?>
                {
                    public void Serialize(
                        ref MessagePackWriter writer, Messages.Shop.Order? value, MessagePackSerializerOptions options)
                    {
                        writer.WriteArrayHeader(3);
                        writer.Write(value!.Name);
                        options.Resolver.GetFormatterWithVerify<List<Messages.Shop.Line>>().Serialize(
                            ref writer, value.Lines, options);
                        options.Resolver.GetFormatterWithVerify<Messages.Shop.IPayment?>().Serialize(
                            ref writer, value.Payment, options);
                    }

                    public Messages.Shop.Order? Deserialize(
                        ref MessagePackReader reader, MessagePackSerializerOptions options)
                    {
                        _ = reader.ReadArrayHeader();
                        return new Messages.Shop.Order
                        {
                            Name = reader.ReadString()!,
                            Lines = options.Resolver.GetFormatterWithVerify<List<Messages.Shop.Line>>().Deserialize(
                                ref reader, options),
                            Payment = options.Resolver.GetFormatterWithVerify<Messages.Shop.IPayment?>().Deserialize(
                                ref reader, options),
                        };
                    }
                }

                internal sealed class LineFormatter : IMessagePackFormatter<Messages.Shop.Line?>
                {
                    public void Serialize(
                        ref MessagePackWriter writer, Messages.Shop.Line? value, MessagePackSerializerOptions options)
                    {
                        writer.WriteArrayHeader(2);
                        writer.Write(value!.Item);
                        writer.Write(value.Count);
                    }

                    public Messages.Shop.Line? Deserialize(
                        ref MessagePackReader reader, MessagePackSerializerOptions options)
                    {
                        _ = reader.ReadArrayHeader();
                        return new Messages.Shop.Line(reader.ReadString()!, reader.ReadInt32());
                    }
                }

                internal sealed class IPaymentFormatter : IMessagePackFormatter<Messages.Shop.IPayment?>
                {
                    public void Serialize(
                        ref MessagePackWriter writer,
                        Messages.Shop.IPayment? value,
                        MessagePackSerializerOptions options)
                    {
                        writer.WriteArrayHeader(2);
                        writer.Write(0);
                        options.Resolver.GetFormatterWithVerify<Account?>().Serialize(
                            ref writer, (Account?)value, options);
                    }

                    public Messages.Shop.IPayment? Deserialize(
                        ref MessagePackReader reader, MessagePackSerializerOptions options)
                    {
                        _ = reader.ReadArrayHeader();
                        _ = reader.ReadInt32();
                        return options.Resolver.GetFormatterWithVerify<Account?>().Deserialize(ref reader, options);
                    }
                }
            }
        }
    }
}
