using System.Runtime.CompilerServices;

namespace MessagePack.Formatters;

/// <summary>Finds the formatters of types made of other types: arrays, collections, nullables, tuples.</summary>
internal static class GenericFormatters
{
    private const int MostDimensions = 4;

    internal static IMessagePackFormatter? Create(Type type)
    {
        if (type.IsEnum)
        {
            return Make(typeof(EnumFormatter<>), type);
        }

        if (type.IsArray)
        {
            return type.IsSZArray ? Make(typeof(ArrayFormatter<>), type.GetElementType()!)
                : type.GetArrayRank() <= MostDimensions ? Make(typeof(GridFormatter<,>), type.GetElementType()!, type)
                : null;
        }

        return CreateGeneric(type) ?? CreateOwn(type);
    }

    private static IMessagePackFormatter? CreateGeneric(Type type)
    {
        if (!type.IsConstructedGenericType)
        {
            return null;
        }

        Type definition = type.GetGenericTypeDefinition();
        Type[] arguments = type.GenericTypeArguments;
        if (definition == typeof(Nullable<>))
        {
            return Make(typeof(NullableFormatter<>), arguments);
        }

        if (definition == typeof(Lazy<>))
        {
            return Make(typeof(LazyFormatter<>), arguments);
        }

        if (definition == typeof(KeyValuePair<,>) || type.IsAssignableTo(typeof(ITuple)))
        {
            return Make(typeof(TupleFormatter<>), type);
        }

        Type? source = arguments.Length switch
        {
            1 => typeof(CollectionFormatters<>),
            2 => typeof(DictionaryFormatters<,>),
            _ => null,
        };
        return source is null
            ? null
            : ((IFormatterSource)Activator.CreateInstance(source.MakeGenericType(arguments))!).Create(type);
    }

    /// <summary>For collections of others, unless they say by an attribute that they are objects.</summary>
    private static IMessagePackFormatter? CreateOwn(Type type)
    {
        bool canBeMade = !type.IsAbstract && !type.ContainsGenericParameters
            && (type.IsValueType || type.GetConstructor(Type.EmptyTypes) is not null);
        if (!canBeMade || type.IsDefined(typeof(MessagePackObjectAttribute), inherit: true))
        {
            return null;
        }

        return InterfaceOf(type, typeof(IDictionary<,>)) is { } dictionary
            ? Make(typeof(OwnDictionaryFormatter<,,>), [.. dictionary.GenericTypeArguments, type])
            : InterfaceOf(type, typeof(ICollection<>)) is { } collection
            ? Make(typeof(OwnCollectionFormatter<,>), [.. collection.GenericTypeArguments, type])
            : null;
    }

    private static Type? InterfaceOf(Type type, Type definition) => Array.Find(
        type.GetInterfaces(),
        candidate => candidate.IsConstructedGenericType && candidate.GetGenericTypeDefinition() == definition);

    private static IMessagePackFormatter Make(Type definition, params Type[] arguments) =>
        (IMessagePackFormatter)Activator.CreateInstance(definition.MakeGenericType(arguments))!;
}
