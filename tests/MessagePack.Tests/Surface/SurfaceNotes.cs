using System.ComponentModel;
using System.Diagnostics;
using System.Reflection;

namespace MessagePack.Tests.Surface;

/// <summary>Writes the attributes that the list notes behind a line.</summary>
internal static class SurfaceNotes
{
    internal static string Of(MemberInfo member) => string.Join(' ', All(member).OfType<string>());

    private static IEnumerable<string?> All(MemberInfo member)
    {
        yield return member.GetCustomAttribute<AttributeUsageAttribute>(inherit: false) is { } usage
            ? $"[AttributeUsage({usage.ValidOn.ToString().Replace(", ", "|")}, "
                + $"AllowMultiple={Lower(usage.AllowMultiple)}, Inherited={Lower(usage.Inherited)})]"
            : null;
        yield return member.GetCustomAttribute<ConditionalAttribute>(inherit: false) is { } conditional
            ? $"[Conditional(\"{conditional.ConditionString}\")]"
            : null;
        yield return member.GetCustomAttribute<EditorBrowsableAttribute>(inherit: false) is { } browsable
            ? $"[EditorBrowsable({browsable.State})]"
            : null;
        yield return member.GetCustomAttribute<ObsoleteAttribute>(inherit: false) is { } obsolete
            ? obsolete.IsError ? $"[Obsolete(\"{obsolete.Message}\", true)]" : "[Obsolete]"
            : null;
#pragma warning disable SYSLIB0050 // It is the attribute that is compared, not what it was for.
        yield return member is Type { IsSerializable: true } ? "[Serializable]" : null;
#pragma warning restore SYSLIB0050
    }

    private static string Lower(bool value) => value ? "true" : "false";
}
