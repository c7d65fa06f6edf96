using System.Reflection;
using System.Runtime.CompilerServices;

namespace RpcOverShm.Tests.House;

/// <summary>The rules for all public types.</summary>
internal static class ApiRules
{
    private const string Prefix = "Shm";

    /// <summary>
    /// Public types without the product's prefix, or in another namespace than their own. That is the root one; a class
    /// of extensions stands where the type that it extends stands, so that code that has the type sees them.
    /// </summary>
    public static IEnumerable<string> Misnamed(IEnumerable<Type> types, string rootNamespace) =>
        from type in types
        where IsVisible(type) && !type.IsNested
        let place = ExtendedBy(type)?.Namespace ?? rootNamespace
        let name = type.IsInterface ? type.Name.TrimStart('I') : type.Name
        where !name.StartsWith(Prefix, StringComparison.Ordinal) || type.Namespace != place
        select $"{type} is public: so its name begins with {Prefix} and it stands in {place}.";

    /// <summary>Visible fields that are not read-only.</summary>
    public static IEnumerable<string> MutableFields(IEnumerable<Type> types) =>
        from type in types
        where IsVisible(type) && !type.IsEnum
        from field in type.GetFields(
            BindingFlags.Public | BindingFlags.NonPublic | BindingFlags.Instance | BindingFlags.Static
            | BindingFlags.DeclaredOnly)
        where IsVisible(field) && !field.IsInitOnly && !field.IsLiteral
        select $"{type}.{field.Name} can be seen and changed.";

    // Null if the class has no extension methods.
    private static Type? ExtendedBy(Type type) => type.GetMethods(BindingFlags.Public | BindingFlags.Static)
        .FirstOrDefault(method => method.IsDefined(typeof(ExtensionAttribute), inherit: false))
        ?.GetParameters()[0].ParameterType;

    private static bool IsVisible(Type type) => type.DeclaringType is { } outer
        ? IsVisible(outer) && (type.IsNestedPublic || type.IsNestedFamily || type.IsNestedFamORAssem)
        : type.IsPublic;

    private static bool IsVisible(FieldInfo field) => field.IsPublic || field.IsFamily || field.IsFamilyOrAssembly;
}
