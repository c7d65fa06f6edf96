using Grpc.Core;
using Microsoft.Extensions.Logging;
using RpcOverShm.Calls;
using RpcOverShm.Scheduling;

namespace RpcOverShm.Clients;

/// <summary>The settings of all calls of one channel, created by the channel from its checked options.</summary>
internal sealed record ClientSettings
{
    /// <summary>The largest response, in bytes; null for no limit.</summary>
    public required int? MaxReceiveMessageBytes { get; init; }

    /// <summary>The largest request, in bytes; null for no limit.</summary>
    public required int? MaxSendMessageBytes { get; init; }

    /// <summary>The side whose options these are: that of the server for callbacks.</summary>
    public string Side { get; init; } = MessageTooLargeException.OfClient;

    /// <summary>The initial credit of each call, in bytes of messages; the channel announces it to servers.</summary>
    public required uint CallWindow { get; init; }

    /// <summary>The codec; null for the generated marshallers.</summary>
    public MarshallerProvider? Codec { get; init; }

    /// <summary>Wraps generated marshallers if there is no codec; null if none is wrapped.</summary>
    public MarshallerProvider? WithoutCodec { get; init; }

    /// <summary>Sees the messages; null for nobody.</summary>
    public MessageObserver? Observer { get; init; }

    /// <summary>Whether a cancelled or expired call throws <see cref="OperationCanceledException"/>.</summary>
    public bool ThrowsOperationCanceled { get; init; }

    /// <summary>The channel's call credentials, asked for metadata after the call's own. Empty for none.</summary>
    public IReadOnlyList<AsyncAuthInterceptor> Credentials { get; init; } = [];

    /// <summary>The server's address; with the service appended, call credentials receive it as their URL.</summary>
    public required string Authority { get; init; }

    /// <summary>The scheduling mode of continuations.</summary>
    public required SchedulingMode Scheduling { get; init; }

    public required ILogger Logger { get; init; }

    /// <summary>The time limits of calls by method; null for none.</summary>
    public CallTimeouts? Timeouts { get; init; }

    /// <summary>Whether a method gives up its service instance while it waits for one of these calls.</summary>
    public bool YieldsInstance { get; init; }

    /// <summary>The provider of connections, which knows why a call found no server; null if there is none.</summary>
    public ConnectionProvider? Connections { get; init; }

    /// <summary>
    /// An object that keeps the channel's connections open: they close when it is collected. A running call refers to
    /// these settings and so keeps it alive. Nothing that outlives the calls may refer to the settings, and this object
    /// refers to no invoker, whose table of methods would keep it for as long as the methods. Null if there is none.
    /// </summary>
    public object? Handle { get; init; }
}
