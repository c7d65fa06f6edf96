namespace RpcOverShm.Hosting;

/// <summary>The clients that share an interceptor.</summary>
public enum ShmInterceptorScope
{
    /// <summary>
    /// All clients of a registration share it: it is taken from the container itself, when the first client is created.
    /// </summary>
    Channel,

    /// <summary>Each client has its own, from the scope in which the client is resolved.</summary>
    Client,
}
