using System.Globalization;
using System.Reflection;

namespace RpcOverShm.Testing.Surface;

/// <summary>Writes types, parameters and constraints in the form of the signature list.</summary>
public static class SurfaceNames
{
    private static readonly Dictionary<Type, string> s_keywords = new()
    {
        [typeof(void)] = "void",
        [typeof(object)] = "object",
        [typeof(string)] = "string",
        [typeof(bool)] = "bool",
        [typeof(char)] = "char",
        [typeof(sbyte)] = "sbyte",
        [typeof(byte)] = "byte",
        [typeof(short)] = "short",
        [typeof(ushort)] = "ushort",
        [typeof(int)] = "int",
        [typeof(uint)] = "uint",
        [typeof(long)] = "long",
        [typeof(ulong)] = "ulong",
        [typeof(float)] = "float",
        [typeof(double)] = "double",
    };

    /// <summary>Returns the full name with generic parameters. The list omits the namespace System.</summary>
    public static string Declaration(Type type)
    {
        return QualifiedName(type) + Enclose(type.GetGenericArguments().Select(parameter => parameter.Name));
    }

    public static string Reference(Type type, NullableFlags flags)
    {
        if (type.IsByRef)
        {
            return Reference(type.GetElementType()!, flags);
        }

        if (Nullable.GetUnderlyingType(type) is { } underlying)
        {
            // A nullable value type has no flag of its own.
            return Reference(underlying, flags) + "?";
        }

        // Other value types have none either, except generic ones, whose flag carries no information.
        var mark = (!type.IsValueType || type.IsGenericType) && flags.NextIsNullable() ? "?" : "";
        if (type.IsArray)
        {
            return Reference(type.GetElementType()!, flags) + "[]" + mark;
        }

        if (s_keywords.TryGetValue(type, out var keyword))
        {
            return keyword + mark;
        }

        var arguments = type.GetGenericArguments().Select(argument => Reference(argument, flags)).ToList();
        return (type.IsGenericParameter ? type.Name : QualifiedName(type)) + Enclose(arguments) + mark;
    }

    public static string Parameters(MethodBase method)
    {
        return "(" + string.Join(", ", method.GetParameters().Select(Parameter)) + ")";
    }

    public static string GenericParameters(MethodInfo method)
    {
        return Enclose(method.GetGenericArguments().Select(parameter => parameter.Name));
    }

    public static string Constraints(IEnumerable<Type> genericParameters)
    {
        return string.Concat(genericParameters.Select(Constraint));
    }

    public static string SimpleName(Type type) => type.Name.Split('`')[0];

    private static string QualifiedName(Type type)
    {
        var name = SimpleName(type);
        return type switch
        {
            { DeclaringType: not null } => QualifiedName(type.DeclaringType) + "." + name,
            { Namespace: "System" } => name,
            _ => type.Namespace + "." + name,
        };
    }

    private static string Enclose(IEnumerable<string> arguments)
    {
        var list = string.Join(", ", arguments);
        return list.Length == 0 ? "" : $"<{list}>";
    }

    private static string Parameter(ParameterInfo parameter)
    {
        var prefix = parameter switch
        {
            { IsOut: true } => "out ",
            { IsIn: true } => "in ",
            { ParameterType.IsByRef: true } => "ref ",
            _ => parameter.IsDefined(typeof(ParamArrayAttribute)) ? "params " : "",
        };
        var type = Reference(parameter.ParameterType, NullableFlags.Of(parameter));
        var suffix = SurfaceAttributes.TrimmerNote(parameter.GetCustomAttributesData());
        var initial = parameter.HasDefaultValue ? " = " + DefaultValue(parameter) : "";
        return $"{prefix}{type} {parameter.Name}{(suffix is null ? "" : " " + suffix)}{initial}";
    }

    private static string DefaultValue(ParameterInfo parameter)
    {
        var type = parameter.ParameterType;
        return parameter.DefaultValue switch
        {
            null when type.IsValueType && Nullable.GetUnderlyingType(type) is null => "default",
            null => "null",
            bool value => value ? "true" : "false",
            var value => Convert.ToInt64(value, CultureInfo.InvariantCulture).ToString(CultureInfo.InvariantCulture),
        };
    }

    private static string Constraint(Type parameter)
    {
        var attributes = parameter.GenericParameterAttributes;
        var flags = NullableFlags.Of(
            parameter.GetCustomAttributesData(),
            parameter.DeclaringMethod ?? (MemberInfo)parameter.DeclaringType!);
        var constraints = new List<string>();
        if (attributes.HasFlag(GenericParameterAttributes.ReferenceTypeConstraint))
        {
            constraints.Add(flags.NextIsNullable() ? "class?" : "class");
        }

        if (attributes.HasFlag(GenericParameterAttributes.NotNullableValueTypeConstraint))
        {
            constraints.Add("struct");
        }

        constraints.AddRange(parameter.GetGenericParameterConstraints().Select(type => Reference(type, flags)));
        return constraints.Count == 0 ? "" : $" where {parameter.Name} : {string.Join(", ", constraints)}";
    }
}
