using System.Reflection;

namespace MessagePack.Formatters;

/// <summary>Makes the formatters that attributes name.</summary>
internal static class NamedFormatter
{
    internal static IMessagePackFormatter Create(MessagePackFormatterAttribute attribute, Type formatted)
    {
        Type type = attribute.FormatterType;
        if (type.IsGenericTypeDefinition)
        {
            type = type.MakeGenericType(formatted.GenericTypeArguments);
        }

        if (attribute.Arguments is { Length: > 0 } arguments)
        {
            return (IMessagePackFormatter)Activator.CreateInstance(type, arguments)!;
        }

        FieldInfo? instance = type.GetField("Instance", BindingFlags.Public | BindingFlags.Static);
        return instance?.FieldType == type
            ? (IMessagePackFormatter)instance.GetValue(null)!
            : (IMessagePackFormatter)Activator.CreateInstance(type, nonPublic: true)!;
    }
}
