using System.Globalization;
using System.Reflection;

namespace RpcOverShm.Tests.House;

/// <summary>
/// Writes types as C# does: with nullability, and with namespaces except System and the library's own.
/// </summary>
internal static class ApiNames
{
    private static readonly Dictionary<Type, string> s_keywords = new()
    {
        [typeof(void)] = "void",
        [typeof(object)] = "object",
        [typeof(string)] = "string",
        [typeof(bool)] = "bool",
        [typeof(byte)] = "byte",
        [typeof(int)] = "int",
        [typeof(long)] = "long",
    };

    private static readonly NullabilityInfoContext s_nullability = new();

    public static string Of(Type type) => Of(type, null);

    public static string Of(FieldInfo field) => Of(field.FieldType, s_nullability.Create(field));

    public static string Of(EventInfo e) => Of(e.EventHandlerType!, s_nullability.Create(e));

    public static string Of(PropertyInfo property) => Of(property.PropertyType, s_nullability.Create(property));

    public static string Of(ParameterInfo parameter) => Of(parameter.ParameterType, s_nullability.Create(parameter));

    public static string Declaration(Type type) => Qualified(type) + GenericParameters(type.GetGenericArguments());

    public static string GenericParameters(Type[] parameters) =>
        parameters.Length == 0 ? "" : $"<{string.Join(", ", parameters.Select(parameter => parameter.Name))}>";

    public static string Parameters(MethodBase method) => string.Join(", ", method.GetParameters().Select(Parameter));

    public static string Constraints(Type[] parameters) => string.Concat(parameters.Select(parameter =>
    {
        GenericParameterAttributes flags = parameter.GenericParameterAttributes;
        string[] constraints =
        [
            .. flags.HasFlag(GenericParameterAttributes.ReferenceTypeConstraint) ? ["class"] : Array.Empty<string>(),
            .. flags.HasFlag(GenericParameterAttributes.NotNullableValueTypeConstraint)
                ? ["struct"]
                : Array.Empty<string>(),
            .. parameter.GetGenericParameterConstraints().Where(type => type != typeof(ValueType)).Select(Of),
        ];
        return constraints.Length == 0 ? "" : $" where {parameter.Name} : {string.Join(", ", constraints)}";
    }));

    public static string Value(object? value) => value switch
    {
        null => "null",
        bool truth => truth ? "true" : "false",
        string text => $"\"{text}\"",
        Enum member => $"{Of(member.GetType())}.{member}",
        _ => Convert.ToString(value, CultureInfo.InvariantCulture)!,
    };

    private static string Parameter(ParameterInfo parameter)
    {
        string prefix = parameter.IsOut ? "out "
            : parameter.IsIn ? "in "
            : parameter.ParameterType.IsByRef ? "ref "
            : parameter.IsDefined(typeof(ParamArrayAttribute)) ? "params " : "";
        bool isStructsDefault = parameter.HasDefaultValue && parameter.DefaultValue is null
            && parameter.ParameterType.IsValueType && Nullable.GetUnderlyingType(parameter.ParameterType) is null;
        string initial = !parameter.HasDefaultValue ? ""
            : isStructsDefault ? " = default"
            : " = " + Value(parameter.DefaultValue);
        return $"{prefix}{Of(parameter)} {parameter.Name}{initial}";
    }

    private static string Of(Type type, NullabilityInfo? nullability)
    {
        if (type.IsByRef)
        {
            return Of(type.GetElementType()!, nullability);
        }

        if (Nullable.GetUnderlyingType(type) is { } underlying)
        {
            return Of(underlying) + "?";
        }

        bool isNullable = !type.IsValueType
            && (nullability?.ReadState == NullabilityState.Nullable
                || nullability?.WriteState == NullabilityState.Nullable);
        string mark = isNullable ? "?" : "";
        if (type.IsArray)
        {
            return $"{Of(type.GetElementType()!, nullability?.ElementType)}[]{mark}";
        }

        if (s_keywords.TryGetValue(type, out string? keyword))
        {
            return keyword + mark;
        }

        Type[] arguments = type.GetGenericArguments();
        string list = string.Join(", ", arguments.Select((argument, i) => Of(
            argument, i < nullability?.GenericTypeArguments.Length ? nullability.GenericTypeArguments[i] : null)));
        return (type.IsGenericParameter ? type.Name : Qualified(type)) + (list.Length > 0 ? $"<{list}>" : "") + mark;
    }

    private static string Qualified(Type type)
    {
        string name = type.Name.Split('`')[0];
        return type switch
        {
            { DeclaringType: { } outer } => $"{Qualified(outer)}.{name}",
            { Namespace: nameof(System) or nameof(RpcOverShm) or null } => name,
            _ => $"{type.Namespace}.{name}",
        };
    }
}
