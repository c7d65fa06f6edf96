using System.Globalization;
using System.Text;
using Google.Protobuf.Reflection;

namespace RpcOverShm.Tool.Reflection;

/// <summary>Writes what a descriptor describes as it would stand in a .proto file, with full names of types.</summary>
internal sealed partial class ProtoText
{
    private readonly StringBuilder _text = new();
    private int _depth;

    private ProtoText()
    {
    }

    /// <summary>Returns the text of a service, method, type or field, with its file in a comment above.</summary>
    public static string Of(IDescriptor descriptor)
    {
        var text = new ProtoText();
        text.Line($"// {descriptor.FullName} of {descriptor.File.Name}");
        switch (descriptor)
        {
            case ServiceDescriptor service:
                text.Write(service);
                break;
            case MethodDescriptor method:
                text.Write(method);
                break;
            case MessageDescriptor message:
                text.Write(message, "message " + message.Name);
                break;
            case EnumDescriptor type:
                text.Write(type);
                break;
            case FieldDescriptor { IsExtension: true } extension:
                text.WriteExtensions([extension]);
                break;
            case FieldDescriptor field:
                text.Write(field);
                break;
            default:
                throw new ArgumentException($"{descriptor.FullName} has no text.", nameof(descriptor));
        }

        return text._text.ToString();
    }

    /// <summary>Returns the line of a method.</summary>
    public static string Signature(MethodDescriptor method) =>
        $"rpc {method.Name}({Stream(method.IsClientStreaming)}{method.InputType.FullName}) "
        + $"returns ({Stream(method.IsServerStreaming)}{method.OutputType.FullName})";

    private static string Stream(bool isStream) => isStream ? "stream " : "";

    private void Write(ServiceDescriptor service)
    {
        Open($"service {service.Name}");
        WriteDeprecated(service.ToProto().Options?.Deprecated);
        foreach (MethodDescriptor method in service.Methods)
        {
            Write(method);
        }

        Close();
    }

    private void Write(MethodDescriptor method)
    {
        if (method.ToProto().Options?.Deprecated != true)
        {
            Line(Signature(method) + ";");
            return;
        }

        Open(Signature(method));
        WriteDeprecated(true);
        Close();
    }

    private void Write(MessageDescriptor message, string head)
    {
        DescriptorProto proto = message.ToProto();
        Open(head);
        WriteDeprecated(proto.Options?.Deprecated);
        foreach (FieldDescriptor field in message.Fields.InDeclarationOrder())
        {
            if (field.RealContainingOneof is not { } oneof)
            {
                Write(field);
            }
            else if (oneof.Fields[0] == field)
            {
                Write(oneof);
            }
        }

        IEnumerable<MessageDescriptor> groups = message.Fields.InDeclarationOrder()
            .Concat(message.Extensions.UnorderedExtensions).Where(IsWrittenAsGroup).Select(field => field.MessageType);
        foreach (MessageDescriptor nested in message.NestedTypes.Except(groups).Where(type => !IsMapEntry(type)))
        {
            Write(nested, "message " + nested.Name);
        }

        foreach (EnumDescriptor nested in message.EnumTypes)
        {
            Write(nested);
        }

        WriteExtensions(message.Extensions.UnorderedExtensions);
        WriteRanges("extensions", proto.ExtensionRange.Select(range => (range.Start, range.End - 1)), []);
        WriteRanges("reserved", proto.ReservedRange.Select(range => (range.Start, range.End - 1)), proto.ReservedName);
        Close();
    }

    private void Write(OneofDescriptor oneof)
    {
        Open($"oneof {oneof.Name}");
        foreach (FieldDescriptor field in oneof.Fields)
        {
            Write(field);
        }

        Close();
    }

    private void Write(EnumDescriptor type)
    {
        EnumDescriptorProto proto = type.ToProto();
        Open($"enum {type.Name}");
        WriteDeprecated(proto.Options?.Deprecated);
        if (proto.Options?.AllowAlias == true)
        {
            Line("option allow_alias = true;");
        }

        foreach (EnumValueDescriptor value in type.Values)
        {
            string options = value.ToProto().Options?.Deprecated == true ? " [deprecated = true]" : "";
            Line(string.Create(CultureInfo.InvariantCulture, $"{value.Name} = {value.Number}{options};"));
        }

        WriteRanges("reserved", proto.ReservedRange.Select(range => (range.Start, range.End)), proto.ReservedName);
        Close();
    }

    private void WriteExtensions(IEnumerable<FieldDescriptor> extensions)
    {
        foreach (IGrouping<string, FieldDescriptor> group in extensions.GroupBy(one => one.ExtendeeType.FullName))
        {
            Open($"extend {group.Key}");
            foreach (FieldDescriptor field in group)
            {
                Write(field);
            }

            Close();
        }
    }

    private void WriteDeprecated(bool? isDeprecated)
    {
        if (isDeprecated == true)
        {
            Line("option deprecated = true;");
        }
    }

    private void WriteRanges(string word, IEnumerable<(int First, int Last)> ranges, IEnumerable<string> names)
    {
        string[] numbers = [.. ranges.Select(range => range switch
        {
            _ when range.First == range.Last => $"{range.First}",
            { Last: >= MaxFieldNumber } => $"{range.First} to max",
            _ => $"{range.First} to {range.Last}",
        })];
        if (numbers.Length > 0)
        {
            Line($"{word} {string.Join(", ", numbers)};");
        }

        string[] quoted = [.. names.Select(name => $"\"{name}\"")];
        if (quoted.Length > 0)
        {
            Line($"{word} {string.Join(", ", quoted)};");
        }
    }

    private void Open(string head)
    {
        Line(head + " {");
        _depth++;
    }

    private void Close()
    {
        _depth--;
        Line("}");
    }

    private void Line(string text) => _text.Append(' ', 2 * _depth).Append(text).Append('\n');
}
