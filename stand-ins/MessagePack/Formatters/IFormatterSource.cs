namespace MessagePack.Formatters;

/// <summary>Makes formatters of generic types whose arguments it was made for.</summary>
internal interface IFormatterSource
{
    /// <summary>The formatter, or null if the type is none of these.</summary>
    IMessagePackFormatter? Create(Type type);
}
