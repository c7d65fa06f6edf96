using MessagePack;
using MessagePack.Formatters;

namespace Publish.Attributed;

/// <summary>A class whose formatter is inside, because it reads what is private.</summary>
[MessagePackObject(AllowPrivate = true)]
public sealed partial class Account : Shop.IPayment
{
    [Key(0)]
    private int _number;

    [IgnoreMember]
    public int Number
    {
        get => _number;
        init => _number = value;
    }

    /// <summary>A formatter in the form of the generator, which adds it to the partial class.</summary>
    internal sealed class AccountFormatter : IMessagePackFormatter<Account?>
    {
        public void Serialize(ref MessagePackWriter writer, Account? value, MessagePackSerializerOptions options)
        {
            writer.WriteArrayHeader(1);
            writer.Write(value!._number);
        }

        public Account? Deserialize(ref MessagePackReader reader, MessagePackSerializerOptions options)
        {
            _ = reader.ReadArrayHeader();
            return new Account { _number = reader.ReadInt32() };
        }
    }
}
