using Google.Protobuf;
using Google.Protobuf.Reflection;
using RpcOverShm.MessagePack.Wire;

namespace RpcOverShm.MessagePack.Messages;

/// <summary>Reads and writes boxed values of one field by its descriptor. Thread-safe.</summary>
internal sealed class DescribedValue(FieldDescriptor descriptor)
{
    private const int WrappedField = 1;

    private readonly bool _isWrapper =
        descriptor.FieldType == FieldType.Message && MessageTypes.IsWrapper(descriptor.MessageType);

    // Created when first used, because types may be recursive.
    private DescribedMessage? _message;
    private DescribedValue? _wrapped;

    private DescribedMessage Message => _message ??= DescribedMessage.Of(descriptor.MessageType);

    private DescribedValue Wrapped => _wrapped ??= new(descriptor.MessageType.FindFieldByNumber(WrappedField));

    /// <summary>Returns whether a field without presence omits the value.</summary>
    public bool IsDefault(object value) => value switch
    {
        string text => text.Length == 0,
        ByteString bytes => bytes.Length == 0,
        float number => BitConverter.SingleToUInt32Bits(number) == 0,
        double number => BitConverter.DoubleToUInt64Bits(number) == 0,
        Enum number => (int)(object)number == 0,
        _ => value.Equals(Default()),
    };

    public long Size(object value) => descriptor.FieldType switch
    {
        FieldType.Bool => 1,
        FieldType.String => WireSize.String((string)value),
        FieldType.Bytes => WireSize.Binary(((ByteString)value).Length),
        FieldType.Float => WireSize.Float32,
        FieldType.Double => WireSize.Float64,
        FieldType.UInt32 or FieldType.Fixed32 => WireSize.Unsigned((uint)value),
        FieldType.UInt64 or FieldType.Fixed64 => WireSize.Unsigned((ulong)value),
        FieldType.Int64 or FieldType.SInt64 or FieldType.SFixed64 => WireSize.Signed((long)value),
        FieldType.Message when _isWrapper => Wrapped.IsDefault(value) ? 1 : 2 + Wrapped.Size(value),
        FieldType.Message => Message.Size((IMessage)value),
        _ => WireSize.Signed((int)value),
    };

    public void Write(ref MessageWriter writer, object value)
    {
        switch (descriptor.FieldType)
        {
            case FieldType.Bool:
                writer.WriteBoolean((bool)value);
                break;
            case FieldType.String:
                writer.WriteString((string)value);
                break;
            case FieldType.Bytes:
                writer.WriteBinary(((ByteString)value).Span);
                break;
            case FieldType.Float:
                writer.WriteSingle((float)value);
                break;
            case FieldType.Double:
                writer.WriteDouble((double)value);
                break;
            case FieldType.UInt32 or FieldType.Fixed32:
                writer.WriteUnsigned((uint)value);
                break;
            case FieldType.UInt64 or FieldType.Fixed64:
                writer.WriteUnsigned((ulong)value);
                break;
            case FieldType.Int64 or FieldType.SInt64 or FieldType.SFixed64:
                writer.WriteSigned((long)value);
                break;
            case FieldType.Message when _isWrapper:
                WriteWrapper(ref writer, value);
                break;
            case FieldType.Message:
                Message.Write(ref writer, (IMessage)value);
                break;
            default:
                writer.WriteSigned((int)value);
                break;
        }
    }

    /// <summary>Reads a value; nil is read as the default.</summary>
    public object Read(ref MessageReader reader) => reader.TryReadNil() ? Default() : Merge(ref reader, null);

    /// <summary>Reads a value that is not nil. A message is merged into <paramref name="before"/>.</summary>
    public object Merge(ref MessageReader reader, object? before) => descriptor.FieldType switch
    {
        FieldType.Bool => reader.ReadBoolean(),
        FieldType.String => reader.ReadString(),
        FieldType.Bytes => reader.ReadBytes(),
        FieldType.Float => reader.ReadSingle(),
        FieldType.Double => reader.ReadDouble(),
        FieldType.UInt32 or FieldType.Fixed32 => reader.ReadUInt32(),
        FieldType.UInt64 or FieldType.Fixed64 => reader.ReadUInt64(),
        FieldType.Int64 or FieldType.SInt64 or FieldType.SFixed64 => reader.ReadInt64(),
        FieldType.Enum => Enum.ToObject(descriptor.EnumType.ClrType, reader.ReadInt32()),
        FieldType.Message when _isWrapper => MergeWrapper(ref reader, before ?? Default()),
        FieldType.Message => MergeMessage(ref reader, (IMessage?)before ?? Message.Create()),
        _ => reader.ReadInt32(),
    };

    private object Default() => descriptor.FieldType switch
    {
        FieldType.Bool => false,
        FieldType.String => "",
        FieldType.Bytes => ByteString.Empty,
        FieldType.Float => 0f,
        FieldType.Double => 0d,
        FieldType.UInt32 or FieldType.Fixed32 => 0u,
        FieldType.UInt64 or FieldType.Fixed64 => 0uL,
        FieldType.Int64 or FieldType.SInt64 or FieldType.SFixed64 => 0L,
        FieldType.Enum => Enum.ToObject(descriptor.EnumType.ClrType, 0),
        FieldType.Message when _isWrapper => Wrapped.Default(),
        FieldType.Message => Message.Create(),
        _ => 0,
    };

    private IMessage MergeMessage(ref MessageReader reader, IMessage message)
    {
        Message.MergeInner(ref reader, message);
        return message;
    }

    private void WriteWrapper(ref MessageWriter writer, object value)
    {
        bool isDefault = Wrapped.IsDefault(value);
        writer.WriteMapHeader(isDefault ? 0 : 1);
        if (!isDefault)
        {
            writer.WriteKey(WrappedField);
            Wrapped.Write(ref writer, value);
        }
    }

    private object MergeWrapper(ref MessageReader reader, object value)
    {
        int around = reader.Field;
        for (int left = reader.ReadMapHeader(); left > 0; left--)
        {
            int number = reader.ReadField();
            reader.Field = around;
            if (reader.TryReadNil())
            {
                continue;
            }

            if (number == WrappedField)
            {
                value = Wrapped.Merge(ref reader, null);
            }
            else
            {
                reader.Skip();
            }
        }

        return value;
    }
}
