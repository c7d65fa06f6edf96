using System.Reflection;

namespace RpcOverShm.Tests.House;

/// <summary>The rules for all public types.</summary>
internal static class ApiRules
{
    private const string Prefix = "Shm";

    /// <summary>Public types without the product's prefix, or outside the root namespace.</summary>
    public static IEnumerable<string> Misnamed(IEnumerable<Type> types, string rootNamespace) =>
        types.Where(type => ApiText.IsVisible(type) && !type.IsNested)
            .Where(type => !type.Name.StartsWith(Prefix, StringComparison.Ordinal) || type.Namespace != rootNamespace)
            .Select(type => $"{type} is public: so its name begins with {Prefix} and it stands in {rootNamespace}.");

    /// <summary>Visible fields that are not read-only.</summary>
    public static IEnumerable<string> MutableFields(IEnumerable<Type> types) =>
        from type in types
        where ApiText.IsVisible(type) && !type.IsEnum
        from field in type.GetFields(
            BindingFlags.Public | BindingFlags.NonPublic | BindingFlags.Instance | BindingFlags.Static
            | BindingFlags.DeclaredOnly)
        where ApiText.IsVisible(field) && !field.IsInitOnly && !field.IsLiteral
        select $"{type}.{field.Name} can be seen and changed.";
}
