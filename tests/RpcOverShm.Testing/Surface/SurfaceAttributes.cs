using System.Diagnostics.CodeAnalysis;
using System.Reflection;

namespace RpcOverShm.Testing.Surface;

/// <summary>Writes the attributes that are part of the surface because compilers or the trimmer act on them.</summary>
public static class SurfaceAttributes
{
    public static string TypeNote(Type type)
    {
        if (type.IsDefined(typeof(FlagsAttribute), inherit: false))
        {
            return "  // [Flags]";
        }

        return type.GetCustomAttribute<AttributeUsageAttribute>(inherit: false) is { } usage
            ? $"  // [AttributeUsage({Targets(usage)}, AllowMultiple={Lower(usage.AllowMultiple)}, " +
                $"Inherited={Lower(usage.Inherited)})]"
            : "";
    }

    public static string? TrimmerNote(IList<CustomAttributeData> attributes)
    {
        var found = attributes.FirstOrDefault(
            attribute => attribute.AttributeType == typeof(DynamicallyAccessedMembersAttribute));
        var members = (DynamicallyAccessedMemberTypes?)(int?)found?.ConstructorArguments[0].Value;
        return members is null ? null : $"[DynamicallyAccessedMembers({members.ToString()!.Replace(", ", "|")})]";
    }

    private static string Targets(AttributeUsageAttribute usage) =>
        usage.ValidOn.ToString().Replace(", ", "|", StringComparison.Ordinal);

    private static string Lower(bool value) => value ? "true" : "false";
}
