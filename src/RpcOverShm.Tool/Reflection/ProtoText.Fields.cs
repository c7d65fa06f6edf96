using System.Globalization;
using System.Text;
using Google.Protobuf.Reflection;
using RpcOverShm.Tool.Json;

namespace RpcOverShm.Tool.Reflection;

/// <content>The lines of fields.</content>
internal sealed partial class ProtoText
{
    private const int MaxFieldNumber = (1 << 29) - 1;

    private void Write(FieldDescriptor field)
    {
        string number = field.FieldNumber.ToString(CultureInfo.InvariantCulture);
        if (IsWrittenAsGroup(field))
        {
            Write(field.MessageType, $"{Label(field)}group {field.MessageType.Name} = {number}");
        }
        else
        {
            Line($"{Label(field)}{TypeOf(field)} {field.Name} = {number}{Options(field)};");
        }
    }

    // In editions a group is a field of a message that is encoded in another way.
    private static bool IsWrittenAsGroup(FieldDescriptor field) =>
        field.ToProto().Type == FieldDescriptorProto.Types.Type.Group;

    private static bool IsMapEntry(MessageDescriptor type) => type.ToProto().Options?.MapEntry == true;

    private static string Label(FieldDescriptor field)
    {
        FieldDescriptorProto proto = field.ToProto();
        string syntax = field.File.ToProto().Syntax;
        return proto.Label switch
        {
            _ when field.IsMap || field.RealContainingOneof is not null => "",
            FieldDescriptorProto.Types.Label.Repeated => "repeated ",
            FieldDescriptorProto.Types.Label.Required => "required ",
            _ when syntax is "" or "proto2" || proto.Proto3Optional => "optional ",
            _ => "",
        };
    }

    private static string TypeOf(FieldDescriptor field) => field.FieldType switch
    {
        _ when field.IsMap => $"map<{TypeOf(field.MessageType.FindFieldByNumber(WireTypes.MapKeyNumber))}, "
            + $"{TypeOf(field.MessageType.FindFieldByNumber(WireTypes.MapValueNumber))}>",
        FieldType.Message or FieldType.Group => field.MessageType.FullName,
        FieldType.Enum => field.EnumType.FullName,
        _ => field.FieldType.ToString().ToLowerInvariant(),
    };

    private static string Options(FieldDescriptor field)
    {
        FieldDescriptorProto proto = field.ToProto();
        var options = new List<string>();
        if (proto.HasDefaultValue)
        {
            options.Add($"default = {Default(field, proto.DefaultValue)}");
        }

        // The compiler fills the name in; it is worth a word if it is another one than the field's name gives.
        if (proto.HasJsonName && proto.JsonName != UsualJsonName(field.Name) && !field.IsExtension)
        {
            options.Add($"json_name = {Quoted(proto.JsonName)}");
        }

        if (proto.Options?.HasPacked == true)
        {
            options.Add($"packed = {(proto.Options.Packed ? "true" : "false")}");
        }

        if (proto.Options?.Deprecated == true)
        {
            options.Add("deprecated = true");
        }

        return options.Count == 0 ? "" : $" [{string.Join(", ", options)}]";
    }

    // The default of bytes is escaped already.
    private static string Default(FieldDescriptor field, string value) => field.FieldType switch
    {
        FieldType.String => Quoted(value),
        FieldType.Bytes => $"\"{value}\"",
        _ => value,
    };

    private static string Quoted(string text) =>
        $"\"{text.Replace("\\", "\\\\", StringComparison.Ordinal).Replace("\"", "\\\"", StringComparison.Ordinal)
            .Replace("\n", "\\n", StringComparison.Ordinal)}\"";

    private static string UsualJsonName(string name)
    {
        var json = new StringBuilder();
        bool isUpper = false;
        foreach (char letter in name)
        {
            if (letter == '_')
            {
                isUpper = true;
                continue;
            }

            json.Append(isUpper ? char.ToUpperInvariant(letter) : letter);
            isUpper = false;
        }

        return json.ToString();
    }
}
