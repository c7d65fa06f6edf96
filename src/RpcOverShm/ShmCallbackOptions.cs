using Grpc.Core;

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
    /// <para>
    /// Defaults to 16. Excess calls wait in the order of their arrival; see <see cref="MaxQueuedCalls"/>. 1 runs
    /// callbacks one after the other, as WCF does by default.
    /// </para>
    /// <para>
    /// A method that blocks keeps a thread of the pool, to which .NET adds about two in a second. What this process
    /// awaits itself, also before it exits, waits behind the methods that have no thread yet. So the default is low.
    /// Raise it for methods that await for long, such as streams.
    /// </para>
    /// </remarks>
    public int MaxConcurrentCallsPerConnection { get; set; } = ShmDefaults.MaxConcurrentCallbacks;

    /// <summary>
    /// Gets or sets the maximum number of calls of one connection that wait for their turn; 0 or more.
    /// </summary>
    /// <remarks>
    /// Defaults to 2,000. Further calls fail with <see cref="StatusCode.ResourceExhausted"/>.
    /// </remarks>
    public int MaxQueuedCalls { get; set; } = ShmDefaults.MaxQueuedCallbacks;

    /// <summary>
    /// Gets or sets the maximum number of bytes of requests and answers that a server can make one connection of this
    /// channel keep; at least <see cref="ShmChannelOptions.MaxReceiveMessageSize"/>.
    /// <para>
    /// Null means 128 MiB or twice that size, whichever is more, and no limit if messages have none.
    /// </para>
    /// </summary>
    /// <remarks>Defaults to null. Calls beyond it fail with <see cref="StatusCode.ResourceExhausted"/>.</remarks>
    public long? MaxConnectionBufferSize { get; set; }

    /// <summary>
    /// Gets or sets the maximum number of calls and callbacks in front of a callback in its chain; 1 or more.
    /// </summary>
    /// <remarks>
    /// <para>
    /// Defaults to 16. In a chain the method of each call makes the next one, before it ends. A callback beyond the
    /// limit fails with <see cref="StatusCode.ResourceExhausted"/>.
    /// </para>
    /// <para>
    /// Two sides that answer each message with another one, without awaiting it, make a chain too. Such a call belongs
    /// to no chain if it is started while the flow of the context is suppressed
    /// (<see cref="System.Threading.ExecutionContext.SuppressFlow"/>).
    /// </para>
    /// </remarks>
    public int MaxCallbackDepth { get; set; } = ShmDefaults.MaxCallbackDepth;

    /// <summary>
    /// Gets or sets whether the status of an exception that a method has thrown has its type and message.
    /// </summary>
    /// <remarks>Defaults to false: the status is <see cref="StatusCode.Unknown"/> with a neutral text.</remarks>
    public bool EnableDetailedErrors { get; set; }
}
