using MessagePack.Formatters;

namespace MessagePack;

/// <summary>Finds the formatter of a type; null where it has none.</summary>
public interface IFormatterResolver
{
    IMessagePackFormatter<T>? GetFormatter<T>();
}
