using Grpc.Core;
using Microsoft.Extensions.Logging;
using RpcOverShm.Calls;
using RpcOverShm.Servers;

namespace RpcOverShm;

/// <summary>
/// The services that a channel's client offers to its server, for callbacks, and their limits: a group of options.
/// </summary>
/// <remarks>Read with the options that it is in. Not thread-safe. Nothing to dispose.</remarks>
public sealed class ShmCallbackOptions
{
    private const string Path = nameof(ShmChannelOptions.Callbacks) + ".";

    /// <summary>Gets the services that the channel's client offers to its server.</summary>
    /// <remarks>
    /// <para>
    /// Empty by default: the client takes no calls. A method of the server gets the client's session with
    /// <see cref="ShmServerCallContextExtensions.GetShmSession"/>, and calls the services with
    /// <see cref="ShmSession.CreateCallInvoker"/>. Interceptors work as on a server. The channel's
    /// <see cref="ShmChannelOptions.MaxReceiveMessageSize"/>, <see cref="ShmChannelOptions.MaxSendMessageSize"/>,
    /// <see cref="ShmChannelOptions.MaxMetadataSize"/> and <see cref="ShmChannelOptions.Scheduling"/> apply, and its
    /// <see cref="ShmChannelOptions.Codec"/> is offered beside the generated marshallers.
    /// </para>
    /// <para>
    /// The services are offered on each connection that the channel makes. The channel connects with its first call or
    /// <see cref="ShmChannel.ConnectAsync"/>; after a server has gone, it connects again with the next call. When the
    /// channel is shut down, the tokens of running callbacks are cancelled, and their server sees
    /// <see cref="StatusCode.Unavailable"/>.
    /// </para>
    /// <para>
    /// While a thread blocks in a generated synchronous call, it runs the methods of the callbacks that are made for
    /// this call, so locks that it holds are held by the same thread. A method continues elsewhere after it has awaited
    /// something else than its requests and responses. A method that waits for 20 ms while another one runs there goes
    /// to the thread pool. The call returns when its answer is there and a method that runs on its thread has returned;
    /// neither a deadline nor a token ends such a run. Other callbacks, also those for awaited calls and for calls with
    /// call credentials or a retry policy, run where methods of a server run.
    /// </para>
    /// <para>
    /// Services are added before a channel is created with the options; after that, adding one throws
    /// <see cref="InvalidOperationException"/>. Each call of a channel that offers services costs slightly more.
    /// </para>
    /// </remarks>
    public ShmServiceCollection Services { get; } = new();

    /// <summary>
    /// Gets or sets whether the status of an exception that a method has thrown has its type and message.
    /// </summary>
    /// <remarks>
    /// Defaults to false: the status is <see cref="StatusCode.Unknown"/> with a neutral text.
    /// </remarks>
    public bool EnableDetailedErrors { get; set; }

    /// <summary>Gets the limits of the calls that servers make to the services.</summary>
    /// <remarks>By default 16 methods run at a time for each connection, and 2,000 calls wait.</remarks>
    public ShmCallLimits Limits { get; } = new();

    /// <summary>Returns the settings of a channel's callbacks; null if it offers no services.</summary>
    /// <exception cref="ArgumentException">A limit is not allowed, or two services have the same method.</exception>
    internal ServerSettings? ToServerSettings(ShmChannelOptions channel, string address, ILogger logger)
    {
        ServerLimits limits = Limits.ToServerLimits(Path + nameof(Limits), channel.MaxReceiveMessageSize);
        if (Services.Count == 0)
        {
            return null;
        }

        Inspectors? observer = Inspectors.Of(channel.MessageInspectors);
        MarshallerProvider[] codecs = channel.Codec?.ToProvider() is { } codec ? [codec] : [];
        return new ServerSettings
        {
            MaxReceiveMessageBytes = channel.MaxReceiveMessageSize,
            MaxSendMessageBytes = channel.MaxSendMessageSize,
            Side = MessageTooLargeException.OfClient,
            CallWindow = ShmDefaults.CallWindow,
            Limits = limits,
            MaxCallbackDepth = Limits.MaxCallbackDepth,
            MaxMetadataBytes = (uint)channel.MaxMetadataSize,
            Scheduling = OptionRanges.Scheduling(channel.Scheduling),
            HasDetailedErrors = EnableDetailedErrors,
            Methods = new MethodTable(
                Services, codecs, Services.OrderedMethods, observer, PayloadMarshallers.Instance),
            Address = address,
            Logger = logger,
        };
    }
}
