using Microsoft.Extensions.Logging;
using RpcOverShm.Calls;
using RpcOverShm.Servers;

namespace RpcOverShm;

/// <summary>Turns the options of callbacks into the settings of the side that serves them.</summary>
internal static class CallbackChecks
{
    /// <summary>Returns the settings of a channel's callbacks; null if it offers no services.</summary>
    /// <exception cref="ArgumentException">A limit is not allowed, or two services have the same method.</exception>
    public static ServerSettings? ToServerSettings(
        ShmChannelOptions options, string address, ILogger logger)
    {
        int depth = LimitChecks.Depth(options.Callbacks.MaxCallbackDepth);
        ServerLimits limits = LimitChecks.Of(new ShmServerOptions
        {
            MaxReceiveMessageSize = options.MaxReceiveMessageSize,
            MaxConcurrentCallsPerConnection = options.Callbacks.MaxConcurrentCallsPerConnection,
            MaxQueuedCalls = options.Callbacks.MaxQueuedCalls,
            MaxConnectionBufferSize = options.Callbacks.MaxConnectionBufferSize,
        });
        if (options.CallbackServices.Count == 0)
        {
            return null;
        }

        Inspectors? observer = Inspectors.Of(options.MessageInspectors);
        MarshallerProvider[] codecs = OptionChecks.Codec(options.Codec) is { } codec ? [codec] : [];
        return new ServerSettings
        {
            MaxReceiveMessageBytes = OptionChecks.MessageSize(options.MaxReceiveMessageSize),
            MaxSendMessageBytes = OptionChecks.MessageSize(options.MaxSendMessageSize),
            Side = MessageTooLargeException.OfClient,
            CallWindow = OptionChecks.CallWindow,
            Limits = limits,
            MaxCallbackDepth = depth,
            MaxMetadataBytes = (uint)options.MaxMetadataSize,
            Scheduling = OptionChecks.Scheduling(options.Scheduling),
            HasDetailedErrors = options.Callbacks.EnableDetailedErrors,
            Methods = new MethodTable(
                options.CallbackServices, codecs, options.CallbackServices.OrderedMethods, observer),
            Address = address,
            Logger = logger,
        };
    }
}
