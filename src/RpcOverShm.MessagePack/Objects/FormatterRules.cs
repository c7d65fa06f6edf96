using System.Diagnostics.CodeAnalysis;
using System.Reflection;
using MessagePack;
using MessagePack.Internal;

namespace RpcOverShm.MessagePack.Objects;

/// <summary>Rules for the package's formatters. A formatter of one's own is not judged. Thread-safe.</summary>
internal static class FormatterRules
{
    private const string NamesTypes =
        "is written with the names of types, by which a peer chooses what is made of its input; "
        + "use a string or an enum";

    private const string FindsSlowly =
        "looks for a name by comparing it with all others; use Dictionary<string, object>";

    private const string HasNoElementType =
        "is a collection that tells MessagePack no type for its elements; use List<T> or Dictionary<TKey, TValue>";

    private const string ComparesByItself =
        "is a dictionary or set with a comparer of its own, against which a peer can choose keys that collide; "
        + "use Dictionary<TKey, TValue> or HashSet<T>";

    /// <summary>The end of a sentence about a type with this formatter; null if the codec takes it.</summary>
    /// <param name="formatter">The type of the formatter.</param>
    /// <param name="type">The type that it writes.</param>
    public static string? WhatIsWrong(Type formatter, Type type)
    {
        if (!IsOfPackage(formatter))
        {
            return null;
        }

        return formatter.Name switch
        {
            "TypelessFormatter" or "ForceTypelessFormatter`1" or "TypeFormatter`1" => NamesTypes,
            "ExpandoObjectFormatter" => FindsSlowly,
            "GenericDictionaryFormatter`3" => ComparesByItself,
            "GenericCollectionFormatter`2" when IsHashSet(type) => ComparesByItself,
            string name when name.StartsWith("NonGeneric", StringComparison.Ordinal) => HasNoElementType,
            _ => null,
        };
    }

    /// <summary>True for a formatter that neither the package nor its generators have made.</summary>
    public static bool IsOnesOwn(Type formatter, Type type)
    {
        if (IsNamedBy(type, formatter))
        {
            return true;
        }

        bool isMade = formatter.Assembly.IsDynamic || IsOfPackage(formatter);
        for (Type? outer = formatter.DeclaringType; outer is not null && !isMade; outer = outer.DeclaringType)
        {
            // The generator marks a resolver that somebody has declared, and announces its own for the assembly.
            Type one = outer;
            isMade = one.IsDefined(typeof(GeneratedMessagePackResolverAttribute), inherit: false)
                || one.Assembly.GetCustomAttributes<GeneratedAssemblyMessagePackResolverAttribute>()
                    .Any(generated => generated.ResolverType == one)
                || IsSame(one, type);
        }

        return !isMade;
    }

    /// <summary>True for a formatter that the package itself holds.</summary>
    public static bool IsOfPackage(Type formatter) => formatter.Assembly == typeof(MessagePackSerializer).Assembly;

    /// <summary>True when the author of a type has named its formatter, and not one of the package.</summary>
    public static bool IsNamedBy(Type type, Type formatter) =>
        !IsOfPackage(formatter)
        && type.GetCustomAttribute<MessagePackFormatterAttribute>()?.FormatterType is { } named
        && IsSame(named, formatter);

    // Whatever their type arguments are.
    private static bool IsSame(Type one, Type other) =>
        one.MetadataToken == other.MetadataToken && one.Module == other.Module;

    // A sorted set compares its elements in order, which no choice of them makes slow.
    [UnconditionalSuppressMessage("Trimming", "IL2070", Justification = "The formatter fills it by an interface.")]
    private static bool IsHashSet(Type type) =>
        type.GetInterfaces().Any(one => one.IsGenericType && one.GetGenericTypeDefinition() == typeof(ISet<>))
        && !(type.IsGenericType && type.GetGenericTypeDefinition() == typeof(SortedSet<>));
}
