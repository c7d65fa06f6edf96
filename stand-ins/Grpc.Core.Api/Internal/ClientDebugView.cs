using System.Diagnostics.CodeAnalysis;
using System.Reflection;

namespace Grpc.Core.Internal;

/// <summary>
/// Shows a debugger which service a client speaks. A generated client is nested in the class that holds the service's
/// name and methods in private fields; whatever else is found shows nothing.
/// </summary>
internal sealed class ClientDebugView(ClientBase client)
{
    private const string ForDebuggersOnly = "Used by debuggers only: what was trimmed away is not shown.";

    public string? Service => FindServiceName(client.GetType());

    public List<IMethod>? Methods => FindMethods(client.GetType());

    [UnconditionalSuppressMessage("Trimming", "IL2075", Justification = ForDebuggersOnly)]
    internal static string? FindServiceName(Type clientType)
    {
        var serviceType = FindServiceType(clientType);
        var field = serviceType?.GetField("__ServiceName", BindingFlags.Static | BindingFlags.NonPublic);
        return field?.GetValue(null)?.ToString();
    }

    [UnconditionalSuppressMessage("Trimming", "IL2075", Justification = ForDebuggersOnly)]
    private static List<IMethod>? FindMethods(Type clientType)
    {
        var fields = FindServiceType(clientType)?.GetFields(BindingFlags.Static | BindingFlags.NonPublic);
        return fields?
            .Where(field => field.FieldType.IsAssignableTo(typeof(IMethod)))
            .Select(field => (IMethod)field.GetValue(null)!)
            .ToList();
    }

    private static Type? FindServiceType(Type clientType)
    {
        return clientType.DeclaringType is { IsAbstract: true } or { IsSealed: true } ? clientType.DeclaringType : null;
    }
}
