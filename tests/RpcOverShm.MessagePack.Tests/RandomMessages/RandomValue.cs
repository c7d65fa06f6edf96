using System.Text;
using FsCheck;
using FsCheck.Fluent;
using Google.Protobuf;
using Google.Protobuf.Reflection;

namespace RpcOverShm.MessagePack.Tests.RandomMessages;

/// <summary>
/// Generates random values, often at the edges of MessagePack's encodings. Not generated are -0.0, which
/// Protobuf's generated code does not write, and lone surrogates, which both formats replace.
/// </summary>
internal static class RandomValue
{
    private static readonly Gen<ulong> s_bits =
        from high in Gen.Choose(int.MinValue, int.MaxValue)
        from low in Gen.Choose(int.MinValue, int.MaxValue)
        select ((ulong)(uint)high << 32) | (uint)low;

    private static readonly Gen<long> s_edges =
        from shift in Gen.Choose(0, 63)
        from beside in Gen.Choose(-2, 2)
        from isNegative in Gen.Elements(true, false)
        select unchecked((isNegative ? -(1L << shift) : 1L << shift) + beside);

    private static readonly Gen<long> s_integer =
        Gen.OneOf(s_edges, s_bits.Select(bits => (long)bits), Gen.Choose(-3, 300).Select(number => (long)number));

    // A JavaScript engine may write any NaN as this one; .NET's own has the sign set.
    private static readonly double s_plainNaN = BitConverter.UInt64BitsToDouble(0x7FF8_0000_0000_0000);

    private static readonly Gen<double> s_number = Gen.OneOf(
        Gen.Elements(0, 1, -1.5, s_plainNaN, double.NegativeInfinity, double.MaxValue, double.Epsilon, float.MaxValue),
        s_bits.Select(bits => BitConverter.UInt64BitsToDouble(bits)).Where(number => !double.IsNaN(number)),
        s_integer.Select(number => (double)number));

    private static readonly Gen<string> s_text = Gen.OneOf(
        Gen.Elements("", "a", "é", "€", "😀", "\0"),
        Gen.Choose(1, 70).Select(length => new string('x', length)),
        Gen.Elements(250, 255, 256, 300).Select(length => new string('y', length)),
        Gen.Elements("é", "€", "😀", "z").ListOf().Select(parts => string.Concat(parts)),
        Gen.Choose(0, 0x10ffff).Where(Rune.IsValid).Select(rune => new Rune(rune).ToString()));

    private static readonly Gen<ByteString> s_bytes = Gen.OneOf(
        Gen.Constant(ByteString.Empty),
        Gen.Choose(0, 255).Select(number => (byte)number).ArrayOf().Select(bytes => ByteString.CopyFrom(bytes)),
        Gen.Elements(255, 256).Select(length => ByteString.CopyFrom(new byte[length])));

    /// <summary>
    /// Returns values for a field that is not a message: never a negative zero, and one NaN only, because other
    /// implementations write a NaN with their own bits.
    /// </summary>
    public static Gen<object> Of(FieldDescriptor field) => field.FieldType switch
    {
        FieldType.Bool => Gen.Elements<object>(true, false),
        FieldType.String => s_text.Select(text => (object)text),
        FieldType.Bytes => s_bytes.Select(bytes => (object)bytes),
        FieldType.Float => s_number.Select(number => (object)((float)number == 0 ? 0f : (float)number)),
        FieldType.Double => s_number.Select(number => (object)(number == 0 ? 0d : number)),
        FieldType.UInt32 or FieldType.Fixed32 => s_integer.Select(number => (object)unchecked((uint)number)),
        FieldType.UInt64 or FieldType.Fixed64 => s_integer.Select(number => (object)unchecked((ulong)number)),
        FieldType.Int64 or FieldType.SInt64 or FieldType.SFixed64 => s_integer.Select(number => (object)number),
        FieldType.Enum => Gen.OneOf(
                Gen.Elements(field.EnumType.Values.Select(value => value.Number)),
                s_integer.Select(number => unchecked((int)number)))
            .Select(number => Enum.ToObject(field.EnumType.ClrType, number)),
        _ => s_integer.Select(number => (object)unchecked((int)number)),
    };
}
