using System.Collections;
using System.Text;
using Google.Protobuf;
using Google.Protobuf.Reflection;
using Google.Protobuf.WellKnownTypes;

namespace RpcOverShm.Tool.Tests.Support;

/// <summary>
/// Random messages of any generated type, by its descriptor. Each field is there or not, and values are often at the
/// edges of their type. Not made is what has no JSON: half surrogates, and times beyond their range.
/// </summary>
internal sealed class RandomMessage(Random random, IReadOnlyList<MessageDescriptor> anyTypes)
{
    private const int MaxDepth = 3;

    private static readonly string[] s_texts =
        ["", "a", "é€😀", "\0\u001f\u007f\u009b", "\"quoted\"\\", "<b>&amp;</b>", "true", "1", "line\r\nline"];

    private static readonly double[] s_numbers =
    [
        0, 1, -1.5, 0.1, 1e20, 1e-20, 123456789012345680, double.NaN, double.PositiveInfinity, double.NegativeInfinity,
        double.MaxValue, double.Epsilon, float.MaxValue, float.Epsilon,
    ];

    public IMessage Of(MessageDescriptor type) => Of(type, 0);

    private IMessage Of(MessageDescriptor type, int depth)
    {
        if (WellKnown(type, depth) is { } known)
        {
            return known;
        }

        var message = (IMessage)Activator.CreateInstance(type.ClrType)!;
        foreach (FieldDescriptor field in type.Fields.InDeclarationOrder())
        {
            bool isDeep = depth >= MaxDepth && field.FieldType is FieldType.Message or FieldType.Group;
            if (field.IsRequired || (!isDeep && random.Next(2 + depth) == 0))
            {
                Set(message, field, depth);
            }
        }

        return message;
    }

    private void Set(IMessage message, FieldDescriptor field, int depth)
    {
        if (field.IsMap)
        {
            var map = (IDictionary)field.Accessor.GetValue(message);
            for (int i = random.Next(4); i > 0; i--)
            {
                map[Value(field.MessageType.FindFieldByNumber(1), depth)] =
                    Value(field.MessageType.FindFieldByNumber(2), depth);
            }
        }
        else if (field.IsRepeated)
        {
            var list = (IList)field.Accessor.GetValue(message);
            for (int i = random.Next(4); i > 0; i--)
            {
                list.Add(Value(field, depth));
            }
        }
        else
        {
            field.Accessor.SetValue(message, Value(field, depth));
        }
    }

    private object Value(FieldDescriptor field, int depth) => field.FieldType switch
    {
        FieldType.Message when field.MessageType.File == WrappersReflection.Descriptor =>
            Value(field.MessageType.FindFieldByNumber(1), depth),
        FieldType.Message or FieldType.Group => Of(field.MessageType, depth + 1),
        FieldType.Bool => random.Next(2) == 0,
        FieldType.String => Text(),
        FieldType.Bytes => Bytes(),
        FieldType.Float => (float)Number(),
        FieldType.Double => Number(),
        FieldType.UInt32 or FieldType.Fixed32 => unchecked((uint)Whole()),
        FieldType.UInt64 or FieldType.Fixed64 => unchecked((ulong)Whole()),
        FieldType.Int64 or FieldType.SInt64 or FieldType.SFixed64 => Whole(),
        FieldType.Enum => System.Enum.ToObject(field.EnumType.ClrType, EnumNumber(field.EnumType)),
        _ => unchecked((int)Whole()),
    };

    private IMessage? WellKnown(MessageDescriptor type, int depth) => type.FullName switch
    {
        "google.protobuf.Timestamp" => new Timestamp
        {
            Seconds = random.NextInt64(-62135596800, 253402300799),
            Nanos = Nanos(),
        },
        "google.protobuf.Duration" => Duration(),
        "google.protobuf.FieldMask" => new FieldMask { Paths = { "name", "some_name.other_part", "a.b.c" } },
        "google.protobuf.Any" => AnyMessage(depth),
        "google.protobuf.Value" => JsonValue(depth),
        "google.protobuf.Struct" => JsonObject(depth),
        "google.protobuf.ListValue" => new ListValue { Values = { JsonValue(depth + 1), JsonValue(depth + 1) } },
        _ => null,
    };

    private Duration Duration()
    {
        int sign = random.Next(2) == 0 ? 1 : -1;
        return new Duration { Seconds = sign * random.NextInt64(0, 315576000000), Nanos = sign * Nanos() };
    }

    private Any AnyMessage(int depth) =>
        Any.Pack(Of(anyTypes[random.Next(anyTypes.Count)], Math.Max(depth, MaxDepth - 1)));

    private Value JsonValue(int depth) => random.Next(depth < MaxDepth ? 6 : 4) switch
    {
        0 => Google.Protobuf.WellKnownTypes.Value.ForNull(),
        1 => Google.Protobuf.WellKnownTypes.Value.ForBool(random.Next(2) == 0),
        2 => Google.Protobuf.WellKnownTypes.Value.ForNumber(random.Next(1000) / 8.0),
        3 => Google.Protobuf.WellKnownTypes.Value.ForString(Text()),
        4 => new Value { StructValue = JsonObject(depth + 1) },
        _ => Google.Protobuf.WellKnownTypes.Value.ForList(JsonValue(depth + 1)),
    };

    private Struct JsonObject(int depth) =>
        new() { Fields = { ["a"] = JsonValue(depth + 1), ["b c"] = JsonValue(depth + 1) } };

    // Each number of NullValue is null in JSON, so only its own one comes back.
    private int EnumNumber(EnumDescriptor type) => random.Next(4) == 0 && type.ClrType != typeof(NullValue)
        ? unchecked((int)Whole())
        : type.Values[random.Next(type.Values.Count)].Number;

    private int Nanos() => random.Next(4) switch
    {
        0 => 0,
        1 => random.Next(1000) * 1_000_000,
        2 => random.Next(1_000_000) * 1000,
        _ => random.Next(1_000_000_000),
    };

    private long Whole() => random.Next(3) switch
    {
        0 => random.Next(-3, 300),
        1 => unchecked((1L << random.Next(64)) + random.Next(-2, 3)),
        _ => random.NextInt64(long.MinValue, long.MaxValue),
    };

    private double Number() => random.Next(2) == 0
        ? s_numbers[random.Next(s_numbers.Length)]
        : random.NextDouble() * Math.Pow(10, random.Next(-30, 30));

    private string Text()
    {
        if (random.Next(2) == 0)
        {
            return s_texts[random.Next(s_texts.Length)];
        }

        var text = new StringBuilder();
        for (int i = random.Next(10); i > 0; i--)
        {
            int code = random.Next(0x110000);
            text.Append(Rune.IsValid(code) ? new Rune(code) : new Rune('x'));
        }

        return text.ToString();
    }

    private ByteString Bytes()
    {
        byte[] bytes = new byte[random.Next(20)];
        random.NextBytes(bytes);
        return ByteString.CopyFrom(bytes);
    }
}
