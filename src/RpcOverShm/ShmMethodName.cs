namespace RpcOverShm;

/// <summary>The name of one method, of all methods of a service, or of all methods.</summary>
/// <remarks>Immutable and thread-safe. Nothing to dispose.</remarks>
public sealed class ShmMethodName
{
    /// <summary>Gets the name that matches all methods without a more specific name.</summary>
    public static ShmMethodName Default { get; } = new();

    /// <summary>
    /// Gets the full name of the service, including its package, such as <c>greet.Greeter</c>.
    /// <para>Null matches all services; <see cref="Method"/> must then be null too.</para>
    /// </summary>
    /// <remarks>Defaults to null.</remarks>
    public string? Service { get; init; }

    /// <summary>
    /// Gets the name of the method, without its service.
    /// <para>Null matches all methods of the service.</para>
    /// </summary>
    /// <remarks>Defaults to null.</remarks>
    public string? Method { get; init; }
}
