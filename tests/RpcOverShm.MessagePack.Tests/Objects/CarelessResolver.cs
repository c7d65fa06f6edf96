using MessagePack;
using MessagePack.Formatters;

namespace RpcOverShm.MessagePack.Tests.Objects;

/// <summary>Takes one type without attributes, as resolvers do that take any, or write the names of types.</summary>
internal sealed class CarelessResolver(IMessagePackFormatter formatter) : IFormatterResolver
{
    public IMessagePackFormatter<T>? GetFormatter<T>() => formatter as IMessagePackFormatter<T>;
}
