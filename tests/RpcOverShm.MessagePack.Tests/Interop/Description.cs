using System.Buffers.Binary;
using System.Collections;
using System.Globalization;
using System.Text;
using Google.Protobuf;
using Google.Protobuf.Reflection;

namespace RpcOverShm.MessagePack.Tests.Interop;

/// <summary>
/// Describes a message as another library must read it from the bytes, in the notation of msgpack_echo.py. It follows
/// the documented rules by reflection and uses no code of the codec.
/// </summary>
internal static class Description
{
    private const double LeastUnsafe = 1L << 53;

    public static string Of(IMessage message)
    {
        IEnumerable<string> fields =
            from field in message.Descriptor.Fields.InFieldNumberOrder()
            let value = field.Accessor.GetValue(message)
            where IsWritten(field, message, value)
            select $"{field.FieldNumber}:{OfField(field, value)}";
        return $"{{{string.Join(',', fields)}}}";
    }

    private static bool IsWritten(FieldDescriptor field, IMessage message, object value) => value switch
    {
        ICollection collection => collection.Count > 0,
        _ when field.HasPresence => field.Accessor.HasValue(message),
        _ => !IsDefault(value),
    };

    private static bool IsDefault(object value) => value is "" || value.Equals(ByteString.Empty)
        || OfScalar(value) is "0" or "false";

    private static string OfField(FieldDescriptor field, object value) => value switch
    {
        IDictionary map => $"{{{string.Join(',', map.Keys.Cast<object>().Select(key =>
            $"{OfScalar(key)}:{OfValue(field.MessageType.FindFieldByNumber(2), map[key]!)}"))}}}",
        IList list => $"[{string.Join(',', list.Cast<object>().Select(item => OfValue(field, item)))}]",
        _ => OfValue(field, value),
    };

    // The property of a well-known wrapper type has the wrapped value, but on the wire the wrapper is a message.
    private static string OfValue(FieldDescriptor field, object value) => value switch
    {
        IMessage message => Of(message),
        _ when field.FieldType == FieldType.Message => IsDefault(value) ? "{}" : $"{{1:{OfScalar(value)}}}",
        _ => OfScalar(value),
    };

    private static string OfScalar(object value) => value switch
    {
        bool flag => flag ? "true" : "false",
        float number => OfDouble(number),
        double number => OfDouble(number),
        string text => "s" + Codec.Hex(Encoding.UTF8.GetBytes(text)),
        ByteString bytes => "b" + Codec.Hex(bytes.ToByteArray()),
        Enum number => Convert.ToInt32(number, CultureInfo.InvariantCulture).ToString(CultureInfo.InvariantCulture),
        _ => Convert.ToString(value, CultureInfo.InvariantCulture)!,
    };

    private static string OfDouble(double value)
    {
        if (double.IsNaN(value))
        {
            return "nan";
        }

        if (double.IsInteger(value) && Math.Abs(value) < LeastUnsafe)
        {
            return ((long)value).ToString(CultureInfo.InvariantCulture);
        }

        byte[] bytes = new byte[sizeof(double)];
        BinaryPrimitives.WriteDoubleBigEndian(bytes, value);
        return "f" + Codec.Hex(bytes);
    }
}
