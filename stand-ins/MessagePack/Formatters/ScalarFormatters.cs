using System.Buffers;
using System.Collections;
using System.Globalization;
using System.Numerics;
using System.Text;

namespace MessagePack.Formatters;

/// <summary>The formatters of types that are written as one value, or as a few of a fixed meaning.</summary>
internal static class ScalarFormatters
{
    private static readonly Dictionary<Type, IMessagePackFormatter> s_formatters = MakeFormatters(
        Of((ref writer, value) => writer.Write(value), (ref reader) => reader.ReadBoolean()),
        Of((ref writer, value) => writer.Write(value), (ref reader) => reader.ReadChar()),
        Of((ref writer, value) => writer.Write(value), (ref reader) => reader.ReadSByte()),
        Of((ref writer, value) => writer.Write(value), (ref reader) => reader.ReadByte()),
        Of((ref writer, value) => writer.Write(value), (ref reader) => reader.ReadInt16()),
        Of((ref writer, value) => writer.Write(value), (ref reader) => reader.ReadUInt16()),
        Of((ref writer, value) => writer.Write(value), (ref reader) => reader.ReadInt32()),
        Of((ref writer, value) => writer.Write(value), (ref reader) => reader.ReadUInt32()),
        Of((ref writer, value) => writer.Write(value), (ref reader) => reader.ReadInt64()),
        Of((ref writer, value) => writer.Write(value), (ref reader) => reader.ReadUInt64()),
        Of((ref writer, value) => writer.Write(value), (ref reader) => reader.ReadSingle()),
        Of((ref writer, value) => writer.Write(value), (ref reader) => reader.ReadDouble()),
        Of((ref writer, value) => writer.Write((float)value), (ref reader) => (Half)reader.ReadSingle()),
        Of((ref writer, value) => writer.Write(value.Value), (ref reader) => new Rune(reader.ReadInt32())),
        Of((ref writer, value) => writer.Write(value), (ref reader) => reader.ReadString()),
        Of((ref writer, _) => writer.WriteNil(), (ref reader) => reader.ReadNil()),
        Of((ref writer, value) => writer.Write(value), (ref reader) => reader.ReadDateTime()),
        Of((ref writer, value) => writer.Write(value.Ticks), (ref reader) => new TimeSpan(reader.ReadInt64())),
        Of((ref writer, value) => writer.Write(value.Ticks), (ref reader) => new TimeOnly(reader.ReadInt64())),
        Of(
            (ref writer, value) => writer.Write(value.DayNumber),
            (ref reader) => DateOnly.FromDayNumber(reader.ReadInt32())),
        Of<DateTimeOffset>(WriteDateTimeOffset, ReadDateTimeOffset),
        Of<decimal>(WriteDecimal, ReadDecimal),
        Of<Guid>(WriteGuid, ReadGuid),
        Of<Uri?>(
            (ref writer, value) => writer.Write(value?.OriginalString),
            (ref reader) => reader.ReadString() is { } text ? new Uri(text, UriKind.RelativeOrAbsolute) : null),
        Of<Version?>(
            (ref writer, value) => writer.Write(value?.ToString()),
            (ref reader) => reader.ReadString() is { } text ? new Version(text) : null),
        Of<StringBuilder?>(
            (ref writer, value) => writer.Write(value?.ToString()),
            (ref reader) => reader.ReadString() is { } text ? new StringBuilder(text) : null),
        Of<BigInteger>(
            (ref writer, value) => writer.Write(value.ToByteArray()),
            (ref reader) => new BigInteger(ReadBytes(ref reader) ?? throw UnexpectedNil())),
        Of<Complex>(WriteComplex, ReadComplex),
        Of<BitArray?>(WriteBits, ReadBits),
        Of<byte[]?>((ref writer, value) => writer.Write(value), ReadBytes),
        Of<Memory<byte>>((ref writer, value) => writer.Write(value.Span), (ref reader) => ReadBytes(ref reader)),
        Of<ReadOnlyMemory<byte>>(
            (ref writer, value) => writer.Write(value.Span), (ref reader) => ReadBytes(ref reader)),
        Of<ReadOnlySequence<byte>>(
            (ref writer, value) => writer.Write(value),
            (ref reader) => ReadBytes(ref reader) is { } bytes ? new ReadOnlySequence<byte>(bytes) : default),
        Of<ArraySegment<byte>>(
            WriteSegment,
            (ref reader) => ReadBytes(ref reader) is { } bytes ? new ArraySegment<byte>(bytes) : default));

    internal static IMessagePackFormatter? Find(Type type) => s_formatters.GetValueOrDefault(type);

    internal static byte[]? ReadBytes(ref MessagePackReader reader) => reader.ReadBytes()?.ToArray();

    private static Dictionary<Type, IMessagePackFormatter> MakeFormatters(
        params IEnumerable<IMessagePackFormatter> formatters) =>
        formatters.ToDictionary(formatter => formatter.GetType().GenericTypeArguments[0]);

    private static ScalarFormatter<T> Of<T>(WriteValue<T> write, ReadValue<T> read) => new(write, read);

    private static MessagePackSerializationException UnexpectedNil() => new("Unexpected nil encountered.");

    private static void WriteSegment(ref MessagePackWriter writer, ArraySegment<byte> value)
    {
        if (value.Array is null)
        {
            writer.WriteNil();
        }
        else
        {
            writer.Write(value.AsSpan());
        }
    }

    /// <summary>The time of the clock there, as if it were UTC, and how far the clock is ahead in minutes.</summary>
    private static void WriteDateTimeOffset(ref MessagePackWriter writer, DateTimeOffset value)
    {
        writer.WriteArrayHeader(2);
        writer.Write(new DateTime(value.Ticks, DateTimeKind.Utc));
        writer.Write((short)value.Offset.TotalMinutes);
    }

    private static DateTimeOffset ReadDateTimeOffset(ref MessagePackReader reader)
    {
        RequireCount(ref reader, 2, nameof(DateTimeOffset));
        long ticks = reader.ReadDateTime().Ticks;
        return new DateTimeOffset(ticks, TimeSpan.FromMinutes(reader.ReadInt16()));
    }

    private static void WriteDecimal(ref MessagePackWriter writer, decimal value) =>
        writer.Write(value.ToString(CultureInfo.InvariantCulture));

    private static decimal ReadDecimal(ref MessagePackReader reader) =>
        decimal.TryParse(reader.ReadString(), NumberStyles.Float, CultureInfo.InvariantCulture, out decimal value)
            ? value
            : throw new MessagePackSerializationException(
                "Can't parse to decimal, input string was not in a correct format.");

    private static void WriteGuid(ref MessagePackWriter writer, Guid value)
    {
        Span<char> text = stackalloc char[36];
        value.TryFormat(text, out _);
        writer.Write(text);
    }

    private static Guid ReadGuid(ref MessagePackReader reader)
    {
        string? text = reader.ReadString();
        return Guid.TryParseExact(text, "D", out Guid value) || Guid.TryParseExact(text, "N", out value)
            ? value
            : throw new MessagePackSerializationException("Invalid Guid pattern.");
    }

    private static void WriteComplex(ref MessagePackWriter writer, Complex value)
    {
        writer.WriteArrayHeader(2);
        writer.Write(value.Real);
        writer.Write(value.Imaginary);
    }

    private static Complex ReadComplex(ref MessagePackReader reader)
    {
        RequireCount(ref reader, 2, nameof(Complex));
        double real = reader.ReadDouble();
        return new Complex(real, reader.ReadDouble());
    }

    private static void WriteBits(ref MessagePackWriter writer, BitArray? value)
    {
        if (value is null)
        {
            writer.WriteNil();
            return;
        }

        writer.WriteArrayHeader(value.Length);
        foreach (bool bit in value)
        {
            writer.Write(bit);
        }
    }

    private static BitArray? ReadBits(ref MessagePackReader reader)
    {
        if (reader.TryReadNil())
        {
            return null;
        }

        var value = new BitArray(reader.ReadArrayHeader());
        for (int i = 0; i < value.Length; i++)
        {
            value[i] = reader.ReadBoolean();
        }

        return value;
    }

    private static void RequireCount(ref MessagePackReader reader, int count, string type)
    {
        if (reader.ReadArrayHeader() != count)
        {
            throw new MessagePackSerializationException($"Invalid {type} format.");
        }
    }
}
