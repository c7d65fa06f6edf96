using System.Reflection;

namespace MessagePack.Tests.Surface;

/// <summary>The assemblies that show the surface: the package has its attributes in one of their own.</summary>
internal static class SurfaceAssemblies
{
    internal static Assembly[] All { get; } =
        [.. new[] { typeof(MessagePackSerializer).Assembly, typeof(KeyAttribute).Assembly }.Distinct()];

    /// <summary>Whether these are the package's own: it is signed.</summary>
    internal static bool AreThePackages { get; } =
        typeof(MessagePackSerializer).Assembly.GetName().GetPublicKeyToken() is { Length: > 0 };
}
