using Grpc.Core;

namespace RpcOverShm;

/// <summary>
/// Facts about the instance of a service that a function creates, and how the instance is released:
/// <see cref="ShmServiceCollection.Add{TService}(Func{ShmActivationContext, TService}, ShmServiceOptions,
/// Grpc.Core.Interceptors.Interceptor[])"/>.
/// </summary>
/// <remarks>For the function and until it returns. Not thread-safe. Nothing to dispose.</remarks>
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

    /// <summary>
    /// Gets or sets what releases the instance after its last method has returned, such as the disposal of a scope of a
    /// container.
    /// <para>
    /// Null means that the server disposes the instance if it is <see cref="IAsyncDisposable"/> or else
    /// <see cref="IDisposable"/>.
    /// </para>
    /// </summary>
    /// <remarks>
    /// <para>
    /// Defaults to null. If it is set, the server does not dispose the instance by itself. It runs once, also if the
    /// function throws or returns null after it has set it. The server logs an exception.
    /// </para>
    /// <para>
    /// With <see cref="ShmServiceLifetime.PerCall"/> the response is sent after it has completed. With the other
    /// lifetimes it runs on the thread pool; a stop of the server waits for it as long as
    /// <see cref="ShmServer.StopAsync"/> says. After a failure of the function it begins on the same thread, and
    /// neither the call nor a stop waits for it.
    /// </para>
    /// </remarks>
    public Func<ValueTask>? Release { get; set; }
}
