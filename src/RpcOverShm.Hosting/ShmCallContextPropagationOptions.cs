namespace RpcOverShm.Hosting;

/// <summary>The settings of a client that takes over deadline and cancellation of a server's call.</summary>
/// <remarks>Read when the client is created. Not thread-safe. Nothing to dispose.</remarks>
public sealed class ShmCallContextPropagationOptions
{
    /// <summary>
    /// Gets or sets whether a call outside of a method of a server is an ordinary call. Otherwise it throws
    /// <see cref="InvalidOperationException"/>.
    /// </summary>
    /// <remarks>Defaults to false, as in Grpc.Net.ClientFactory.</remarks>
    public bool SuppressContextNotFoundErrors { get; set; }
}
