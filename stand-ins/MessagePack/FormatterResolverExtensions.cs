using System.Runtime.CompilerServices;
using System.Runtime.ExceptionServices;
using MessagePack.Formatters;

namespace MessagePack;

public static class FormatterResolverExtensions
{
    /// <exception cref="FormatterNotRegisteredException">The resolver has none for the type.</exception>
    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    public static IMessagePackFormatter<T> GetFormatterWithVerify<T>(this IFormatterResolver resolver)
    {
        ArgumentNullException.ThrowIfNull(resolver);
        IMessagePackFormatter<T>? formatter;
        try
        {
            formatter = resolver.GetFormatter<T>();
        }
        catch (TypeInitializationException e)
        {
            // Resolvers keep formatters in static fields, which is nobody's business: what went wrong there is.
            ExceptionDispatchInfo.Throw(e.InnerException ?? e);
            throw;
        }

        return formatter ?? throw new FormatterNotRegisteredException(
            $"{typeof(T).FullName} is not registered in resolver: {resolver.GetType()}");
    }

    public static object? GetFormatterDynamic(this IFormatterResolver resolver, Type type)
    {
        ArgumentNullException.ThrowIfNull(resolver);
        ArgumentNullException.ThrowIfNull(type);
        return AnyFormatter.Of(type).Find(resolver);
    }
}
