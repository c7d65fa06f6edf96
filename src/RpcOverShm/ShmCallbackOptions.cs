namespace RpcOverShm;

/// <summary>The limits of the calls that servers make to the services of a channel's client.</summary>
/// <remarks>
/// <para>They have the names and the meaning of those of <see cref="ShmServerOptions"/>.</para>
/// <para>Not thread-safe. Nothing to dispose.</para>
/// </remarks>
public sealed class ShmCallbackOptions
{
    internal ShmCallbackOptions()
    {
    }

    /// <summary>
    /// Gets or sets the maximum number of methods that run at a time for one connection; 1 to 65,536.
    /// </summary>
    /// <remarks>
    /// Defaults to 1,000. Excess calls wait in the order of their arrival; see <see cref="MaxQueuedCalls"/>.
    /// </remarks>
    public int MaxConcurrentCallsPerConnection { get; set; } = ShmDefaults.MaxConcurrentCallbacks;

    /// <summary>Gets or sets the maximum number of calls of one connection that wait for their turn; 0 or more.</summary>
    /// <remarks>
    /// Defaults to 1,000. If more calls come, they fail with <see cref="Grpc.Core.StatusCode.ResourceExhausted"/>.
    /// </remarks>
    public int MaxQueuedCalls { get; set; } = ShmDefaults.MaxConcurrentCallbacks;

    /// <summary>
    /// Gets or sets the maximum number of bytes of requests and answers that a server can make one connection of this
    /// channel keep; at least <see cref="ShmChannelOptions.MaxReceiveMessageSize"/>.
    /// <para>Null means 128 MiB, or twice that size if it is more.</para>
    /// </summary>
    /// <remarks>Defaults to null. Calls beyond it fail with <see cref="Grpc.Core.StatusCode.ResourceExhausted"/>.</remarks>
    public long? MaxConnectionBufferSize { get; set; }

    /// <summary>
    /// Gets or sets whether the status of an exception that a method has thrown has its type and message.
    /// </summary>
    /// <remarks>Defaults to false: the status is <see cref="Grpc.Core.StatusCode.Unknown"/> with a neutral text.</remarks>
    public bool EnableDetailedErrors { get; set; }
}
