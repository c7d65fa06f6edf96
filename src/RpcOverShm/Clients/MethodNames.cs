using System.Diagnostics.CodeAnalysis;
using Grpc.Core;

namespace RpcOverShm.Clients;

/// <summary>
/// The names of a service config: "service/method" for a method, "service/" for all methods of a service, and "/" for
/// all methods.
/// </summary>
internal static class MethodNames
{
    /// <summary>
    /// Finds the value of a method. That of its own name precedes that of its service, which precedes that of all
    /// methods.
    /// </summary>
    public static bool TryFind<T>(
        IReadOnlyDictionary<string, T> values, IMethod method, [MaybeNullWhen(false)] out T value) =>
        values.TryGetValue($"{method.ServiceName}/{method.Name}", out value)
        || values.TryGetValue($"{method.ServiceName}/", out value)
        || values.TryGetValue("/", out value);
}
