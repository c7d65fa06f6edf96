using System.IO.Compression;
using Grpc.Core.Interceptors;
using Microsoft.Extensions.Logging;
using RpcOverShm.Calls;
using RpcOverShm.Links;
using RpcOverShm.Protocol;
using RpcOverShm.Servers;
using RpcOverShm.Systems;

namespace RpcOverShm;

/// <summary>The settings of a <see cref="ShmServer"/>.</summary>
/// <remarks>
/// <para>
/// The server reads the options when it is created; later changes have no effect. The constructor of
/// <see cref="ShmServer"/> throws <see cref="ArgumentException"/> if a value is not allowed.
/// </para>
/// <para>Not thread-safe. Nothing to dispose.</para>
/// </remarks>
public sealed class ShmServerOptions
{
    /// <summary>
    /// Gets or sets the factory of the server's logger.
    /// <para>Null disables logging.</para>
    /// </summary>
    /// <remarks>Defaults to null. The server does not dispose the factory.</remarks>
    public ILoggerFactory? LoggerFactory { get; set; }

    /// <summary>
    /// Gets or sets the maximum size, in bytes, of a received message.
    /// <para>
    /// Null removes the limit: a client can then make this process use any amount of memory. 0 allows only empty
    /// messages.
    /// </para>
    /// </summary>
    /// <remarks>
    /// Defaults to 4 MiB, as in gRPC. If a message is larger, its call fails with
    /// <see cref="Grpc.Core.StatusCode.ResourceExhausted"/>.
    /// </remarks>
    public int? MaxReceiveMessageSize { get; set; } = ShmDefaults.MaxReceiveMessageSize;

    /// <summary>
    /// Gets or sets the maximum size, in bytes, of a sent message.
    /// <para>Null removes the limit. 0 allows only empty messages.</para>
    /// </summary>
    /// <remarks>
    /// Defaults to null. If a message is larger, its call fails with
    /// <see cref="Grpc.Core.StatusCode.ResourceExhausted"/>.
    /// </remarks>
    public int? MaxSendMessageSize { get; set; }

    /// <summary>
    /// Gets or sets the time without a call or callback after which a session ends; 1 second or more and below 24 days.
    /// <para>Null lets idle sessions last.</para>
    /// </summary>
    /// <remarks>
    /// <para>
    /// Defaults to null. WCF's ReceiveTimeout is 10 minutes by default. After 1 to 1.5 times this time in which the
    /// session had no running call, callback or method, the server asks the client to leave. The client closes its
    /// connection, and connects again with its next call. No call fails for that. The server closes nothing itself.
    /// </para>
    /// <para>A client that only waits for callbacks has to make a call now and then, or it cannot be called.</para>
    /// </remarks>
    public TimeSpan? IdleTimeout { get; set; }

    /// <summary>
    /// Gets or sets whether the status detail of a failed call contains the type and message of the exception that the
    /// method threw.
    /// </summary>
    /// <remarks>Defaults to false, because exceptions may contain confidential data.</remarks>
    public bool EnableDetailedErrors { get; set; }

    /// <summary>
    /// Gets or sets the compression of responses, unless the method requests another: <c>gzip</c> or <c>identity</c>.
    /// <para>Null means the same as <c>identity</c>: no compression.</para>
    /// </summary>
    /// <remarks>
    /// Defaults to null: over shared memory, compression costs more time than it saves. A method requests
    /// another with the response header <c>grpc-internal-encoding-request</c>, and none for a single message with
    /// <see cref="Grpc.Core.WriteFlags.NoCompress"/>.
    /// </remarks>
    public string? ResponseCompressionAlgorithm { get; set; }

    /// <summary>
    /// Gets or sets the level at which responses are compressed.
    /// <para>Null means <see cref="CompressionLevel.Fastest"/>.</para>
    /// </summary>
    /// <remarks>Defaults to null. Without effect on responses that are not compressed.</remarks>
    public CompressionLevel? ResponseCompressionLevel { get; set; }

    /// <summary>Gets the interceptors of all calls; the first is the outermost, as in ASP.NET Core.</summary>
    /// <remarks>
    /// Empty by default. They run outside the interceptors of a single service, which
    /// <see cref="ShmServiceCollection"/> or Grpc.Core's <c>Intercept</c> adds. Each interceptor serves all calls,
    /// so it must be thread-safe.
    /// </remarks>
    public IList<Interceptor> Interceptors { get; } = [];

    /// <summary>Gets the hooks that see the bytes of each message, in this order.</summary>
    /// <remarks>
    /// Empty by default. See <see cref="ShmMessageInspector"/>. They also see the callbacks that the server makes.
    /// </remarks>
    public IList<ShmMessageInspector> MessageInspectors { get; } = [];

    /// <summary>Gets the codecs that the server offers besides the generated marshallers.</summary>
    /// <remarks>
    /// Empty by default; the generated marshallers are always offered, but a <see cref="ShmMethod"/> has none. Each
    /// codec must have a different name.
    /// </remarks>
    public IList<ShmCodec> Codecs { get; } = [];

    /// <summary>Gets or sets the threads on which methods run.</summary>
    /// <remarks>Defaults to <see cref="ShmSchedulingMode.Adaptive"/>.</remarks>
    public ShmSchedulingMode Scheduling { get; set; }

    /// <summary>Gets the clients that are let in, and how many.</summary>
    public ShmListenOptions Listen { get; } = new();

    /// <summary>Gets the limits of what clients can make the server run and keep.</summary>
    public ShmServerLimits Limits { get; } = new();

    /// <summary>Gets the sizes of the rings of each connection.</summary>
    public ShmRingOptions Ring { get; } = new();

    /// <summary>Gets the loans of payloads to clients.</summary>
    public ShmLoanOptions Loans { get; } = new();

    /// <summary>Gets the handles in calls to and from clients.</summary>
    public ShmHandleOptions Handles { get; } = new();

    /// <summary>Returns the checked settings of the connections to an address.</summary>
    /// <exception cref="ArgumentException">An option is not allowed.</exception>
    internal ConnectionSettings ToConnectionSettings(RendezvousAddress address, ServerLimits limits, ILogger logger) =>
        Listen.ToConnectionSettings(
            address, ConnectionPurpose.Calls, Ring, Ring.ToPeerLimits(Limits.MaxMetadataSize, limits), logger) with
        {
            Loans = Loans.ToLoanLimits(logger),
            MaxTopicBytes = HostSystem.IsSupported && HostSystem.Current.PassesHandlesLater ? long.MaxValue : 0,
            MaxHeldHandles = Handles.ToMaxHeld(logger),
        };

    /// <summary>Returns the checked settings of the calls, with the checked limits.</summary>
    /// <exception cref="ArgumentException">An option is not allowed.</exception>
    internal ServerSettings ToServerSettings(string address, ServerLimits limits, ILogger logger)
    {
        OptionRanges.AtLeast(0, MaxReceiveMessageSize, nameof(MaxReceiveMessageSize), "any size");
        OptionRanges.AtLeast(0, MaxSendMessageSize, nameof(MaxSendMessageSize), "any size");
        OptionRanges.Idle(IdleTimeout, nameof(IdleTimeout));
        OptionRanges.OneOf(ResponseCompressionLevel, nameof(ResponseCompressionLevel), "Fastest");
        return new ServerSettings
        {
            MaxReceiveMessageBytes = MaxReceiveMessageSize,
            MaxSendMessageBytes = MaxSendMessageSize,
            CallWindow = ShmDefaults.CallWindow,
            Limits = limits,
            MaxMetadataBytes = (uint)Limits.MaxMetadataSize,
            IdleTimeout = IdleTimeout,
            Scheduling = OptionRanges.Scheduling(Scheduling),
            MaxCallbackDepth = Limits.MaxCallbackDepth,
            HasDetailedErrors = EnableDetailedErrors,
            ResponseEncoding = ToEncoding(),
            ResponseCompressionLevel = ResponseCompressionLevel ?? CompressionLevel.Fastest,
            Address = address,
            Logger = logger,
        };
    }

    /// <summary>Returns what the codecs make of messages.</summary>
    /// <exception cref="ArgumentException">A codec is null, or two have the same name.</exception>
    internal IReadOnlyList<MarshallerProvider> ToProviders()
    {
        var providers = new List<MarshallerProvider>();
        foreach (ShmCodec? codec in Codecs)
        {
            MarshallerProvider provider =
                codec?.ToProvider() ?? throw new ArgumentException($"A codec of {nameof(Codecs)} is null.");
            if (providers.Exists(other => other.Name == provider.Name))
            {
                throw new ArgumentException($"Two codecs of {nameof(Codecs)} have the name '{provider.Name}'.");
            }

            providers.Add(provider);
        }

        return providers;
    }

    /// <exception cref="ArgumentException">An interceptor is null.</exception>
    internal Interceptor[] ToInterceptors() =>
        [.. Interceptors.Select(one => one ?? throw new ArgumentException("An interceptor is null."))];

    private string? ToEncoding() => ResponseCompressionAlgorithm switch
    {
        null or MessageEncoding.Identity => null,
        MessageEncoding.Gzip => MessageEncoding.Gzip,
        _ => throw new ArgumentException(
            $"{nameof(ResponseCompressionAlgorithm)} is one of {MessageEncoding.Supported}, or null; "
            + $"not '{ResponseCompressionAlgorithm}'."),
    };
}
