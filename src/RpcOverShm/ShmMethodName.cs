namespace RpcOverShm;

/// <summary>The name of a method, of all methods of a service, or of all methods.</summary>
public sealed class ShmMethodName
{
    /// <summary>All methods that no other name is for.</summary>
    public static ShmMethodName Default { get; } = new();

    /// <summary>
    /// The full name of the service, with its package, such as <c>greet.Greeter</c>. Default null: all services; then
    /// there is no method either.
    /// </summary>
    public string? Service { get; init; }

    /// <summary>The method's name without its service. Default null: all methods of the service.</summary>
    public string? Method { get; init; }
}
