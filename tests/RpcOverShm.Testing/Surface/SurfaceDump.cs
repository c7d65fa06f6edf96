using System.Reflection;
using System.Runtime.CompilerServices;

namespace RpcOverShm.Testing.Surface;

/// <summary>
/// Writes the public surface of an assembly in the form of the signature list, one line per type or member.
/// </summary>
public static class SurfaceDump
{
    private const BindingFlags Declared = BindingFlags.Public | BindingFlags.NonPublic | BindingFlags.Instance
        | BindingFlags.Static | BindingFlags.DeclaredOnly;

    public static IEnumerable<string> Lines(Assembly assembly)
    {
        return assembly.GetTypes().Where(IsVisible).SelectMany(Lines);
    }

    private static IEnumerable<string> Lines(Type type)
    {
        var name = SurfaceNames.Declaration(type);
        IEnumerable<string> members = type switch
        {
            { IsEnum: true } => EnumMembers(type).Select(member => $"{name}.{member}"),
            _ when IsDelegate(type) => [],
            _ => Members(type).Select(member => $"{name} : {member}"),
        };
        return members.Append($"{name} :: {TypeDeclaration(type)}{SurfaceAttributes.TypeNote(type)}");
    }

    private static string TypeDeclaration(Type type)
    {
        var access = type.IsNestedFamORAssem ? "protected internal" : type.IsNestedFamily ? "protected" : "public";
        if (type.IsEnum)
        {
            return $"{access} enum : {SurfaceNames.Reference(type.GetEnumUnderlyingType(), NullableFlags.None)}";
        }

        var constraints = SurfaceNames.Constraints(type.GetGenericArguments());
        if (IsDelegate(type))
        {
            var invoke = type.GetMethod("Invoke")!;
            return $"{access} delegate {ReturnType(invoke)} {SurfaceNames.Parameters(invoke)}{constraints}";
        }

        var bases = string.Join(", ", Bases(type));
        return $"{access} {Kind(type)}{(bases.Length == 0 ? "" : " : " + bases)}{constraints}";
    }

    private static string Kind(Type type)
    {
        return type switch
        {
            { IsInterface: true } => "interface",
            { IsByRefLike: true } => type.IsDefined(typeof(IsReadOnlyAttribute)) ? "readonly ref struct" : "ref struct",
            { IsValueType: true } => type.IsDefined(typeof(IsReadOnlyAttribute)) ? "readonly struct" : "struct",
            { IsAbstract: true, IsSealed: true } => "static class",
            { IsAbstract: true } => "abstract class",
            { IsSealed: true } => "sealed class",
            _ => "class",
        };
    }

    private static IEnumerable<string> Bases(Type type)
    {
        IEnumerable<Type> baseType = type.BaseType is null || type.IsValueType || type.BaseType == typeof(object)
            ? []
            : [type.BaseType];
        // Interfaces of the base type or of other interfaces are not repeated.
        var inherited = (type.BaseType?.GetInterfaces() ?? [])
            .Concat(type.GetInterfaces().SelectMany(direct => direct.GetInterfaces()));
        return baseType.Concat(type.GetInterfaces().Except(inherited))
            .Select(direct => SurfaceNames.Reference(direct, NullableFlags.None));
    }

    private static IEnumerable<string> EnumMembers(Type type)
    {
        return type.GetFields(BindingFlags.Public | BindingFlags.Static)
            .Select(field => $"{field.Name} = {field.GetRawConstantValue()}");
    }

    private static IEnumerable<string> Members(Type type)
    {
        var accessors = type.GetProperties(Declared).SelectMany(property => property.GetAccessors(nonPublic: true));
        return type.GetConstructors(Declared).Where(IsVisible).Select(Constructor)
            .Concat(type.GetFields(Declared).Where(IsVisible).Select(Field))
            .Concat(type.GetProperties(Declared).Where(IsVisible).Select(Property))
            .Concat(type.GetMethods(Declared).Except(accessors).Where(IsVisible).Select(Method));
    }

    private static string Constructor(ConstructorInfo constructor)
    {
        var name = SurfaceNames.SimpleName(constructor.DeclaringType!);
        return $"{Access(constructor)} {name}{SurfaceNames.Parameters(constructor)}";
    }

    private static string Field(FieldInfo field)
    {
        var flags = NullableFlags.Of(field.GetCustomAttributesData(), field.DeclaringType!);
        var type = SurfaceNames.Reference(field.FieldType, flags);
        var access = field.IsPublic ? "public" : "protected";
        return field.IsLiteral
            ? $"{access} const {type} {field.Name} = {Constant(field.GetRawConstantValue())}"
            : $"{access} {(field.IsStatic ? "static " : "")}{(field.IsInitOnly ? "readonly " : "")}{type} {field.Name}";
    }

    private static string Constant(object? value) => value is string text ? $"\"{text}\"" : $"{value}";

    private static string Property(PropertyInfo property)
    {
        var accessors = property.GetAccessors(nonPublic: true).Where(IsVisible).ToList();
        var flags = NullableFlags.Of(property.GetCustomAttributesData(), property.DeclaringType!);
        var type = SurfaceNames.Reference(property.PropertyType, flags);
        var index = property.GetIndexParameters().Length == 0
            ? property.Name
            : "this" + SurfaceNames.Parameters(property.GetMethod!).Replace('(', '[').Replace(')', ']');
        var verbs = string.Concat(accessors.Select(accessor => accessor.Name.Split('_')[0] + "; "));
        var note = SurfaceAttributes.TrimmerNote(property.GetCustomAttributesData());
        var signature = $"{Access(accessors[0])} {Modifiers(accessors[0])}{type} {index} {{ {verbs}}}";
        return note is null ? signature : $"{signature}  // {note}";
    }

    private static string Method(MethodInfo method)
    {
        var extension = method.IsDefined(typeof(ExtensionAttribute)) ? "[ext] " : "";
        return $"{Access(method)} {Modifiers(method)}{extension}{ReturnType(method)} {method.Name}" +
            SurfaceNames.GenericParameters(method) + SurfaceNames.Parameters(method) +
            SurfaceNames.Constraints(method.GetGenericArguments());
    }

    private static string ReturnType(MethodInfo method)
    {
        return SurfaceNames.Reference(method.ReturnType, NullableFlags.Of(method.ReturnParameter));
    }

    private static string Access(MethodBase method)
    {
        return method.IsPublic ? "public" : method.IsFamilyOrAssembly ? "protected internal" : "protected";
    }

    private static string Modifiers(MethodInfo method)
    {
        var isNew = method.Attributes.HasFlag(MethodAttributes.NewSlot);
        return method switch
        {
            { DeclaringType.IsInterface: true } => "",
            { IsStatic: true } => "static ",
            { IsVirtual: false } => "",
            { IsAbstract: true } => "abstract ",
            // The runtime marks interface implementations as virtual and final; they are not virtual in C#.
            { IsFinal: true } => isNew ? "" : "sealed override ",
            _ => isNew ? "virtual " : "override ",
        };
    }

    private static bool IsDelegate(Type type) => type.IsSubclassOf(typeof(Delegate));

    private static bool IsVisible(Type type)
    {
        var own = type.IsPublic || type.IsNestedPublic || type.IsNestedFamily || type.IsNestedFamORAssem;
        return own && (type.DeclaringType is null || IsVisible(type.DeclaringType));
    }

    private static bool IsVisible(MethodBase method)
    {
        return method.IsPublic || method.IsFamily || method.IsFamilyOrAssembly;
    }

    private static bool IsVisible(FieldInfo field) => field.IsPublic || field.IsFamily || field.IsFamilyOrAssembly;

    private static bool IsVisible(PropertyInfo property) => property.GetAccessors(nonPublic: true).Any(IsVisible);
}
