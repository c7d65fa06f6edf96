using System.Runtime.CompilerServices;

namespace MessagePack.Formatters;

/// <summary>Writes an enum's value as its underlying type would be written.</summary>
internal sealed class EnumFormatter<T> : IMessagePackFormatter<T>
    where T : struct, Enum
{
    private static readonly TypeCode s_underlying = Type.GetTypeCode(typeof(T));

    public void Serialize(ref MessagePackWriter writer, T value, MessagePackSerializerOptions options)
    {
        if (s_underlying is TypeCode.SByte or TypeCode.Int16 or TypeCode.Int32 or TypeCode.Int64)
        {
            writer.Write(Unsafe.SizeOf<T>() switch
            {
                1 => Unsafe.As<T, sbyte>(ref value),
                2 => Unsafe.As<T, short>(ref value),
                4 => Unsafe.As<T, int>(ref value),
                _ => Unsafe.As<T, long>(ref value),
            });
            return;
        }

        writer.Write(Unsafe.SizeOf<T>() switch
        {
            1 => Unsafe.As<T, byte>(ref value),
            2 => Unsafe.As<T, ushort>(ref value),
            4 => Unsafe.As<T, uint>(ref value),
            _ => Unsafe.As<T, ulong>(ref value),
        });
    }

    public T Deserialize(ref MessagePackReader reader, MessagePackSerializerOptions options) => s_underlying switch
    {
        TypeCode.SByte => From(reader.ReadSByte()),
        TypeCode.Byte => From(reader.ReadByte()),
        TypeCode.Int16 => From(reader.ReadInt16()),
        TypeCode.UInt16 => From(reader.ReadUInt16()),
        TypeCode.Int32 => From(reader.ReadInt32()),
        TypeCode.UInt32 => From(reader.ReadUInt32()),
        TypeCode.Int64 => From(reader.ReadInt64()),
        _ => From(reader.ReadUInt64()),
    };

    private static T From<TValue>(TValue value) => Unsafe.As<TValue, T>(ref value);
}
