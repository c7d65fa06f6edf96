using System.IO.Compression;
using Grpc.Core;
using Microsoft.Extensions.Logging;
using RpcOverShm.Calls;
using RpcOverShm.Scheduling;

namespace RpcOverShm.Servers;

/// <summary>The settings that all calls of a server share, made from its checked options.</summary>
internal sealed record ServerSettings
{
    /// <summary>The maximum size of a request; null for no limit.</summary>
    public required int? MaxReceiveMessageBytes { get; init; }

    /// <summary>The maximum size of a response; null for no limit.</summary>
    public required int? MaxSendMessageBytes { get; init; }

    /// <summary>The side whose options these are: that of the client for callbacks.</summary>
    public string Side { get; init; } = MessageTooLargeException.OfServer;

    /// <summary>The encoding of responses unless their call overrides it; null for not encoded.</summary>
    public string? ResponseEncoding { get; init; }

    public CompressionLevel ResponseCompressionLevel { get; init; } = CompressionLevel.Fastest;

    /// <summary>The initial credit of a call in bytes of messages, which the server announces to clients.</summary>
    public required uint CallWindow { get; init; }

    /// <summary>The limits of what clients can make the server run and keep.</summary>
    public required ServerLimits Limits { get; init; }

    /// <summary>The maximum number of calls before one in a chain of calls and callbacks.</summary>
    public required int MaxCallbackDepth { get; init; }

    /// <summary>The maximum size of a request's metadata.</summary>
    public required uint MaxMetadataBytes { get; init; }

    /// <summary>Whether the status for a handler's exception tells the client its type and message.</summary>
    public required bool HasDetailedErrors { get; init; }

    /// <summary>The scheduling mode, which decides where methods run.</summary>
    public required SchedulingMode Scheduling { get; init; }

    /// <summary>The time without a call after which a session is asked to leave; null for never.</summary>
    public TimeSpan? IdleTimeout { get; init; }

    /// <summary>The address of the server, or of the one that a channel offers its callbacks to; for traces.</summary>
    public string Address { get; init; } = "";

    /// <summary>The methods; empty until the server starts, because services can be added until then.</summary>
    public MethodTable Methods { get; init; } = new([], []);

    /// <summary>The instances of services that live as long as the server, or the channel that offers them.</summary>
    public ServiceInstances Instances { get; } = new(isStriped: true);

    /// <summary>The channel that offers the services, which its connections keep alive; null for a server.</summary>
    public object? Channel { get; init; }

    public required ILogger Logger { get; init; }

    /// <summary>Returns a marshaller that writes encoded responses.</summary>
    public Marshaller<T> WithEncoding<T>(Marshaller<T> marshaller, WriteOptions? options) => MessageEncoding.Writing(
        marshaller, MessageEncoding.MayCompress(options), ResponseCompressionLevel, MaxSendMessageBytes);
}
