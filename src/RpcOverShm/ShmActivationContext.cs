using Grpc.Core;

namespace RpcOverShm;

/// <summary>Facts that an activator knows about the instance that it creates.</summary>
/// <remarks>Thread-safe. Nothing to dispose.</remarks>
public sealed class ShmActivationContext
{
    internal ShmActivationContext(ShmSession? session, ServerCallContext? call)
    {
        Session = session;
        CallContext = call;
    }

    /// <summary>
    /// Gets the session of the client for which the instance is created; null for a
    /// <see cref="ShmServiceLifetime.Singleton"/>, and for a service that a channel offers.
    /// </summary>
    public ShmSession? Session { get; }

    /// <summary>
    /// Gets the context of the call for which the instance is created, with
    /// <see cref="ShmServiceLifetime.PerCall"/>; null with the other lifetimes, where the instance outlives the call.
    /// </summary>
    public ServerCallContext? CallContext { get; }
}
