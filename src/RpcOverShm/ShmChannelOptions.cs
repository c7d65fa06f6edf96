using Grpc.Core;
using Microsoft.Extensions.Logging;
using RpcOverShm.Clients;
using RpcOverShm.Links;
using RpcOverShm.Protocol;
using RpcOverShm.Retries;
using RpcOverShm.Servers;
using RpcOverShm.Systems;

namespace RpcOverShm;

/// <summary>The settings of a <see cref="ShmChannel"/>.</summary>
/// <remarks>
/// <para>
/// The channel reads the options when it is created; later changes have no effect. <see cref="ShmChannel.ForAddress"/>
/// throws <see cref="ArgumentException"/> if a value is not allowed.
/// </para>
/// <para>Not thread-safe. Nothing to dispose.</para>
/// </remarks>
public sealed class ShmChannelOptions
{
    /// <summary>
    /// Gets or sets the factory of the channel's logger.
    /// <para>Null disables logging.</para>
    /// </summary>
    /// <remarks>Defaults to null. The channel does not dispose the factory.</remarks>
    public ILoggerFactory? LoggerFactory { get; set; }

    /// <summary>
    /// Gets or sets the maximum size, in bytes, of a received message.
    /// <para>
    /// Null removes the limit: a server can then make this process use any amount of memory. 0 allows only empty
    /// messages.
    /// </para>
    /// </summary>
    /// <remarks>
    /// Defaults to 4 MiB, as in gRPC. If a message is larger, its call fails with
    /// <see cref="StatusCode.ResourceExhausted"/>.
    /// </remarks>
    public int? MaxReceiveMessageSize { get; set; } = ShmDefaults.MaxReceiveMessageSize;

    /// <summary>
    /// Gets or sets the maximum size, in bytes, of a sent message.
    /// <para>Null removes the limit. 0 allows only empty messages.</para>
    /// </summary>
    /// <remarks>
    /// Defaults to null. If a message is larger, its call fails with <see cref="StatusCode.ResourceExhausted"/>.
    /// </remarks>
    public int? MaxSendMessageSize { get; set; }

    /// <summary>
    /// Gets or sets the maximum size, in bytes, of one block of received metadata: response headers or trailers.
    /// <para>0 allows no metadata. The maximum is 16 MiB.</para>
    /// </summary>
    /// <remarks>
    /// Defaults to 64 KiB. Each entry counts its key, its value and 32 bytes, as in gRPC. If a block is larger, its
    /// call fails with <see cref="StatusCode.ResourceExhausted"/>. But if a failure has details
    /// (<c>grpc-status-details-bin</c>) without which its trailers are not too large, only the details are left out,
    /// and the text of the status says so.
    /// </remarks>
    public int MaxMetadataSize { get; set; } = ShmDefaults.MaxMetadataSize;

    /// <summary>Gets or sets the pause after the first failed attempt to connect; above zero, at most a day.</summary>
    /// <remarks>
    /// <para>
    /// Defaults to 10 milliseconds. Each further failure multiplies the pause by 1.6, up to
    /// <see cref="MaxReconnectBackoff"/>; a random jitter of 20 % is added or subtracted (gRPC's
    /// doc/connection-backoff.md, with times for one machine).
    /// </para>
    /// <para>
    /// A call that starts during a pause fails with the failure of the last attempt, unless it waits for ready. If the
    /// last attempt found no server, which takes no time to find out, the call starts the next attempt at once.
    /// </para>
    /// </remarks>
    public TimeSpan InitialReconnectBackoff { get; set; } = ShmDefaults.InitialReconnectBackoff;

    /// <summary>
    /// Gets or sets the maximum pause between two attempts to connect, before jitter; at least
    /// <see cref="InitialReconnectBackoff"/>, at most a day.
    /// </summary>
    /// <remarks>Defaults to 1 second.</remarks>
    public TimeSpan MaxReconnectBackoff { get; set; } = ShmDefaults.MaxReconnectBackoff;

    /// <summary>
    /// Gets or sets the time limit of calls that have no deadline; above zero.
    /// <para>Null means that such a call may last for any time.</para>
    /// </summary>
    /// <remarks>
    /// <para>
    /// Defaults to null, as in gRPC. WCF's SendTimeout is a minute by default. The time begins with the call and covers
    /// the wait for a connection, all attempts of a retried call, and the whole of a stream, however long it is
    /// watched. After it, the call fails with <see cref="StatusCode.DeadlineExceeded"/>. The server gets it as the
    /// call's deadline.
    /// </para>
    /// <para>
    /// A deadline of the call wins, earlier or later, also one that was propagated from a server's call.
    /// <see cref="DateTime.MaxValue"/> is no deadline, as in gRPC. The <see cref="ShmMethodConfig.Timeout"/> of the
    /// method wins too. For methods without an end in sight, such as watches, it is
    /// <see cref="Timeout.InfiniteTimeSpan"/>. Callbacks have no default.
    /// </para>
    /// </remarks>
    public TimeSpan? DefaultTimeout { get; set; }

    /// <summary>
    /// Gets or sets the time without a call after which the channel closes its connection; 1 second or more and below
    /// 24 days.
    /// <para>
    /// Null keeps it open. Must be null if the channel offers services (<see cref="ShmCallbackOptions.Services"/>).
    /// </para>
    /// </summary>
    /// <remarks>
    /// Defaults to null: an idle connection costs memory only. The connection closes after 1 to 1.5 times this time
    /// without a running call, and <see cref="ShmChannel.State"/> becomes <see cref="ConnectivityState.Idle"/>. No call
    /// fails for that: the next one connects again, which takes about a millisecond. The session ends, with its items;
    /// the next call begins another.
    /// </remarks>
    public TimeSpan? IdleTimeout { get; set; }

    /// <summary>
    /// Gets or sets the channel's credentials.
    /// <para>Null means <see cref="ChannelCredentials.Insecure"/>.</para>
    /// </summary>
    /// <remarks>
    /// Defaults to null. Call credentials that are composed into the channel's credentials apply to every call, after
    /// the call's own. Credentials do not protect the transport: a connection's memory is passed to the peer alone, and
    /// the kernel names the peer's user and process. <see cref="ChannelCredentials.SecureSsl"/> is therefore accepted
    /// and has no effect.
    /// </remarks>
    public ChannelCredentials? Credentials { get; set; }

    /// <summary>
    /// Gets or sets the service config: which failures of which methods the channel retries, and how long calls may
    /// last.
    /// <para>Null disables retries by policy, and timeouts by method.</para>
    /// </summary>
    /// <remarks>
    /// Defaults to null. Calls with one request that a stopping server refused before a method saw them are always sent
    /// to the next server (transparent retry, gRFC A6).
    /// </remarks>
    public ShmServiceConfig? ServiceConfig { get; set; }

    /// <summary>
    /// Gets or sets the maximum number of attempts of a call, including the first; 1 or more. A larger
    /// <see cref="ShmRetryPolicy.MaxAttempts"/> is lowered to it.
    /// <para>Null removes the limit.</para>
    /// </summary>
    /// <remarks>Defaults to 5.</remarks>
    public int? MaxRetryAttempts { get; set; } = ShmDefaults.MaxRetryAttempts;

    /// <summary>
    /// Gets or sets the maximum number of request bytes that the channel keeps for retries, over all calls. A request
    /// counts 208 bytes besides its own.
    /// <para>Null removes the limit. 0 keeps nothing.</para>
    /// </summary>
    /// <remarks>Defaults to 16 MiB. A call whose requests do not fit is not retried.</remarks>
    public long? MaxRetryBufferSize { get; set; } = ShmDefaults.MaxRetryBufferSize;

    /// <summary>
    /// Gets or sets the maximum number of request bytes that the channel keeps for retries of one call. A request
    /// counts 208 bytes besides its own.
    /// <para>Null removes the limit. 0 keeps nothing.</para>
    /// </summary>
    /// <remarks>Defaults to 1 MiB. A call whose requests do not fit is not retried.</remarks>
    public long? MaxRetryBufferPerCallSize { get; set; } = ShmDefaults.MaxRetryBufferPerCallSize;

    /// <summary>
    /// Gets or sets whether a cancelled, disposed or timed-out call throws <see cref="OperationCanceledException"/>
    /// instead of <see cref="RpcException"/>.
    /// </summary>
    /// <remarks>
    /// Defaults to false. The exception carries the token that was cancelled, and the <see cref="RpcException"/> as its
    /// inner exception. Applies only to calls that this side cancelled or disposed, or whose deadline has passed.
    /// </remarks>
    public bool ThrowOperationCanceledOnCancellation { get; set; }

    /// <summary>
    /// Gets or sets the codec of all messages.
    /// <para>Null means the marshallers that were generated with the service.</para>
    /// </summary>
    /// <remarks>Defaults to null.</remarks>
    public ShmCodec? Codec { get; set; }

    /// <summary>Gets the hooks that see the bytes of each message, in this order.</summary>
    /// <remarks>
    /// Empty by default. See <see cref="ShmMessageInspector"/>. They also see the callbacks that the client serves.
    /// </remarks>
    public IList<ShmMessageInspector> MessageInspectors { get; } = [];


    /// <summary>Gets or sets the threads on which continuations of awaited calls run.</summary>
    /// <remarks>Defaults to <see cref="ShmSchedulingMode.Adaptive"/>.</remarks>
    public ShmSchedulingMode Scheduling { get; set; }

    /// <summary>Gets the channel's way to its server.</summary>
    public ShmConnectOptions Connect { get; } = new();

    /// <summary>Gets the services that the channel's client offers to its server, with their limits.</summary>
    public ShmCallbackOptions Callbacks { get; } = new();

    /// <summary>Gets the sizes of the rings of each connection.</summary>
    public ShmRingOptions Ring { get; } = new();

    /// <summary>Gets the loans of payloads to the server.</summary>
    public ShmLoanOptions Loans { get; } = new();

    /// <summary>
    /// Gets or sets the memory, in bytes, of the topics of the server that the channel maps for each connection; 0 for
    /// none.
    /// </summary>
    /// <remarks>
    /// Defaults to 256 MiB. The memory belongs to the server, which makes it once for all its clients; it is mapped
    /// read-only. The messages of a topic that has no room within this come as those of any stream.
    /// </remarks>
    public long MaxTopicSize { get; set; } = ShmDefaults.MaxTopicSize;

    /// <summary>Gets the handles in calls to and from the server.</summary>
    public ShmHandleOptions Handles { get; } = new();

    /// <summary>Returns the checked settings of the connections.</summary>
    /// <param name="callbacks">The checked limits of callbacks; null if the channel offers no services.</param>
    /// <param name="logger">The channel's logger.</param>
    /// <exception cref="ArgumentException">An option is not allowed.</exception>
    internal ConnectionSettings ToConnectionSettings(ServerLimits? callbacks, ILogger logger)
    {
        OptionRanges.Between(0, PeerLimits.LargestMetadata, MaxMetadataSize, nameof(MaxMetadataSize));
        OptionRanges.AtLeast(0, MaxTopicSize, nameof(MaxTopicSize));
        return Connect.ToConnectionSettings(
            ConnectionPurpose.Calls, Ring, Ring.ToPeerLimits(MaxMetadataSize, callbacks), logger) with
        {
            Loans = Loans.ToLoanLimits(logger),
            MaxTopicBytes = HostSystem.IsSupported && HostSystem.Current.PassesHandlesLater ? MaxTopicSize : 0,
            MaxHeldHandles = Handles.ToMaxHeld(logger),
        };
    }

    /// <exception cref="ArgumentException">A pause is not allowed.</exception>
    internal ReconnectBackoff ToBackoff()
    {
        OptionRanges.Pause(InitialReconnectBackoff, nameof(InitialReconnectBackoff));
        OptionRanges.Pause(MaxReconnectBackoff, nameof(MaxReconnectBackoff));
        OptionRanges.NotBelow<TimeSpan>(
            InitialReconnectBackoff,
            nameof(InitialReconnectBackoff),
            MaxReconnectBackoff,
            nameof(MaxReconnectBackoff));
        return new ReconnectBackoff(InitialReconnectBackoff, MaxReconnectBackoff);
    }

    /// <summary>Throws if a limit of messages is not allowed.</summary>
    /// <exception cref="ArgumentException">A limit is not allowed.</exception>
    internal void CheckMessageSizes()
    {
        OptionRanges.AtLeast(0, MaxReceiveMessageSize, nameof(MaxReceiveMessageSize), "any size");
        OptionRanges.AtLeast(0, MaxSendMessageSize, nameof(MaxSendMessageSize), "any size");
    }

    /// <summary>Returns the time limits of calls; null if there are none.</summary>
    /// <exception cref="ArgumentException">A timeout or the service config is not allowed.</exception>
    internal CallTimeouts? ToTimeouts()
    {
        OptionRanges.Positive(DefaultTimeout, nameof(DefaultTimeout), "none");
        Dictionary<string, TimeSpan?>? methods = ToValues(static (method, path) => method.ToTimeout(path));
        return DefaultTimeout is null && (methods is null || methods.Values.All(timeout => timeout is null))
            ? null
            : new CallTimeouts(methods ?? [], DefaultTimeout);
    }

    /// <summary>Returns the time without a call after which the connections are closed; null for never.</summary>
    /// <exception cref="ArgumentException">The time is not allowed, or the channel offers callbacks.</exception>
    internal TimeSpan? ToIdleTimeout()
    {
        OptionRanges.Idle(IdleTimeout, nameof(IdleTimeout));
        return IdleTimeout is not null && Callbacks.Services.Count > 0
            ? throw new ArgumentException(
                $"{nameof(IdleTimeout)} is null if there are {nameof(Callbacks)}.{nameof(Callbacks.Services)}: the "
                + "server could not call back a channel that has closed its connections.")
            : IdleTimeout;
    }

    /// <summary>Returns the retry settings; null if no method has a retry policy.</summary>
    /// <exception cref="ArgumentException">A limit or the service config is not allowed.</exception>
    internal RetrySettings? ToRetrySettings()
    {
        OptionRanges.AtLeast(1, MaxRetryAttempts, nameof(MaxRetryAttempts), "any number");
        OptionRanges.AtLeast(0, MaxRetryBufferSize, nameof(MaxRetryBufferSize), "any size");
        OptionRanges.AtLeast(0, MaxRetryBufferPerCallSize, nameof(MaxRetryBufferPerCallSize), "any size");
        Dictionary<string, RetryPolicy?>? policies =
            ToValues((method, path) => method.RetryPolicy?.ToRetryPolicy(path, MaxRetryAttempts));
        RetryThrottle? throttle = ServiceConfig?.RetryThrottling?.ToThrottle(
            $"{nameof(ServiceConfig)}.{nameof(ShmServiceConfig.RetryThrottling)}");
        return policies is null || policies.Values.All(policy => policy is null)
            ? null
            : new RetrySettings
            {
                Policies = policies,
                Throttle = throttle,
                Budget = new RetryBudget(MaxRetryBufferSize, MaxRetryBufferPerCallSize),
            };
    }

    private Dictionary<string, T>? ToValues<T>(Func<ShmMethodConfig, string, T> read) =>
        ServiceConfig?.ByName(nameof(ServiceConfig), read);
}
