namespace MessagePack;

/// <summary>Names the formatter of a type or a member.</summary>
[AttributeUsage(
    AttributeTargets.Class | AttributeTargets.Struct | AttributeTargets.Enum | AttributeTargets.Property
        | AttributeTargets.Field | AttributeTargets.Interface | AttributeTargets.Parameter
        | AttributeTargets.ReturnValue,
    AllowMultiple = false,
    Inherited = true)]
public class MessagePackFormatterAttribute : Attribute
{
    public MessagePackFormatterAttribute(Type formatterType)
    {
        FormatterType = formatterType;
    }

    public MessagePackFormatterAttribute(Type formatterType, params object?[]? arguments)
    {
        FormatterType = formatterType;
        Arguments = arguments;
    }

    public Type FormatterType { get; }

    public object?[]? Arguments { get; }
}
