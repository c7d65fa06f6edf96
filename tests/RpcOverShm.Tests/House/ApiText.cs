using System.Reflection;

namespace RpcOverShm.Tests.House;

/// <summary>
/// Writes the visible members of a type, sorted, one per line. A change in this text is a change of the public API.
/// </summary>
internal static class ApiText
{
    private const BindingFlags Declared = BindingFlags.Public | BindingFlags.NonPublic | BindingFlags.Instance
        | BindingFlags.Static | BindingFlags.DeclaredOnly;

    public static string Of(IEnumerable<Type> types) => string.Concat(
        types.Where(IsVisible).OrderBy(type => type.FullName, StringComparer.Ordinal).Select(OfType));

    private static string OfType(Type type)
    {
        IEnumerable<string> members = type.IsEnum
            ? type.GetFields(BindingFlags.Public | BindingFlags.Static)
                .Select(field => $"{field.Name} = {Convert.ToInt64(field.GetRawConstantValue(), null)}")
            : Members(type).Order(StringComparer.Ordinal);
        return $"{Header(type)}\n" + string.Concat(members.Select(member => $"    {member}\n"));
    }

    private static string Header(Type type)
    {
        string kind = type switch
        {
            { IsEnum: true } => "enum",
            { IsInterface: true } => "interface",
            { IsValueType: true } => "struct",
            { IsAbstract: true, IsSealed: true } => "static class",
            { IsAbstract: true } => "abstract class",
            { IsSealed: true } => "sealed class",
            _ => "class",
        };
        IEnumerable<Type> inherited = (type.BaseType?.GetInterfaces() ?? [])
            .Concat(type.GetInterfaces().SelectMany(direct => direct.GetInterfaces()));
        IEnumerable<Type> bases = type.IsEnum
            ? [type.GetEnumUnderlyingType()]
            : type.GetInterfaces().Except(inherited).OrderBy(direct => direct.FullName, StringComparer.Ordinal);
        if (type.BaseType is { } parent && !type.IsValueType && parent != typeof(object))
        {
            bases = bases.Prepend(parent);
        }

        string list = string.Join(", ", bases.Select(ApiNames.Of));
        return $"{kind} {ApiNames.Declaration(type)}{(list.Length > 0 ? " : " + list : "")}"
            + ApiNames.Constraints(type.GetGenericArguments());
    }

    private static IEnumerable<string> Members(Type type)
    {
        MethodInfo[] accessors =
        [
            .. type.GetProperties(Declared).SelectMany(property => property.GetAccessors(nonPublic: true)),
            .. type.GetEvents(Declared).SelectMany(e => new[] { e.AddMethod!, e.RemoveMethod! }),
        ];
        return type.GetConstructors(Declared).Where(IsVisible).Select(Constructor)
            .Concat(type.GetFields(Declared).Where(IsVisible).Select(Field))
            .Concat(type.GetEvents(Declared).Where(e => IsVisible(e.AddMethod!)).Select(Event))
            .Concat(type.GetProperties(Declared).Where(IsVisible).Select(Property))
            .Concat(type.GetMethods(Declared).Except(accessors).Where(IsVisible).Select(Method));
    }

    private static string Constructor(ConstructorInfo constructor) =>
        $"{Access(constructor)}.ctor({ApiNames.Parameters(constructor)})";

    private static string Field(FieldInfo field)
    {
        string kind = field.IsLiteral
            ? "const "
            : (field.IsStatic ? "static " : "") + (field.IsInitOnly ? "readonly " : "");
        string value = field.IsLiteral ? $" = {ApiNames.Value(field.GetRawConstantValue())}" : "";
        return $"{(field.IsPublic ? "" : "protected ")}{kind}{ApiNames.Of(field)} {field.Name}{value}";
    }

    private static string Event(EventInfo e) => $"{Access(e.AddMethod!)}event {ApiNames.Of(e)} {e.Name}";

    private static string Property(PropertyInfo property)
    {
        MethodInfo[] accessors = [.. property.GetAccessors(nonPublic: true).Where(IsVisible)];
        string verbs = string.Concat(
            accessors.Select(accessor => $"{Access(accessor, accessors[0])}{Verb(accessor)}; "));
        string index = property.GetIndexParameters().Length == 0
            ? property.Name
            : $"this[{ApiNames.Parameters(property.GetMethod!)}]";
        return $"{Access(accessors[0])}{Modifiers(accessors[0])}{ApiNames.Of(property)} {index} {{ {verbs}}}";
    }

    private static string Method(MethodInfo method) =>
        $"{Access(method)}{Modifiers(method)}{ApiNames.Of(method.ReturnParameter)} {method.Name}"
        + $"{ApiNames.GenericParameters(method.GetGenericArguments())}({ApiNames.Parameters(method)})"
        + ApiNames.Constraints(method.GetGenericArguments());

    // "public" is omitted.
    private static string Access(MethodBase method, MethodBase? comparedWith = null) =>
        method.IsPublic || method.Attributes == comparedWith?.Attributes
            ? ""
            : method.IsFamilyOrAssembly ? "protected internal " : "protected ";

    private static string Verb(MethodInfo accessor) =>
        accessor.ReturnParameter.GetRequiredCustomModifiers().Length > 0 ? "init" : accessor.Name.Split('_')[0];

    private static string Modifiers(MethodInfo method)
    {
        bool isNew = method.Attributes.HasFlag(MethodAttributes.NewSlot);
        return method switch
        {
            { DeclaringType.IsInterface: true } => "",
            { IsStatic: true } => "static ",
            { IsVirtual: false } => "",
            { IsAbstract: true } => "abstract ",
            { IsFinal: true } => isNew ? "" : "sealed override ",
            _ => isNew ? "virtual " : "override ",
        };
    }

    public static bool IsVisible(Type type) => type.DeclaringType is { } outer
        ? IsVisible(outer) && (type.IsNestedPublic || type.IsNestedFamily || type.IsNestedFamORAssem)
        : type.IsPublic;

    public static bool IsVisible(FieldInfo field) => field.IsPublic || field.IsFamily || field.IsFamilyOrAssembly;

    private static bool IsVisible(MethodBase method) => method.IsPublic || method.IsFamily || method.IsFamilyOrAssembly;

    private static bool IsVisible(PropertyInfo property) => property.GetAccessors(nonPublic: true).Any(IsVisible);
}

/// <summary>
/// An assembly that users compile against: its name, which is also its root namespace, and its types.
/// </summary>
public sealed record ShippedAssembly(string Name, IReadOnlyList<Type> Types, string ApprovedFile)
{
    public override string ToString() => Name;
}
