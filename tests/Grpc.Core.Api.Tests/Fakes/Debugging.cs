using System.Diagnostics;
using System.Reflection;

namespace Grpc.Core.Api.Tests.Fakes;

/// <summary>Looks at an object the way a debugger does: through the attributes of its type.</summary>
internal static class Debugging
{
    private const BindingFlags Members = BindingFlags.Public | BindingFlags.NonPublic | BindingFlags.Instance;

    /// <summary>The display text, with each {Member,nq} or {Method(),nq} in it evaluated.</summary>
    internal static string Display(object value)
    {
        var text = value.GetType().GetCustomAttribute<DebuggerDisplayAttribute>()!.Value;
        return string.Concat(text.Split('{', '}').Select((part, i) => i % 2 == 0 ? part : Evaluate(value, part)));
    }

    /// <summary>The properties that the type's proxy shows in place of the object's own.</summary>
    internal static Dictionary<string, object?> View(object value)
    {
        var type = value.GetType();
        var proxy = Type.GetType(type.GetCustomAttribute<DebuggerTypeProxyAttribute>()!.ProxyTypeName)!;
        var closed = proxy.IsGenericTypeDefinition ? proxy.MakeGenericType(type.GetGenericArguments()) : proxy;
        var view = Activator.CreateInstance(closed, value)!;
        return closed.GetProperties().ToDictionary(property => property.Name, property => property.GetValue(view));
    }

    private static object? Evaluate(object value, string expression)
    {
        var name = expression.Split(',')[0];
        for (var type = value.GetType(); type is not null; type = type.BaseType)
        {
            var found = name.EndsWith("()", StringComparison.Ordinal)
                ? type.GetMethod(name[..^2], Members)?.Invoke(value, null)
                : (type.GetProperty(name, Members) as MemberInfo ?? type.GetField(name, Members)) switch
                {
                    PropertyInfo property => property.GetValue(value),
                    FieldInfo field => field.GetValue(value),
                    _ => null,
                };
            if (found is not null)
            {
                return found;
            }
        }

        throw new MissingMemberException(value.GetType().Name, name);
    }
}
