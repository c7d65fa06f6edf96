using System.IO.Compression;
using Grpc.Core;
using Microsoft.Extensions.Logging;
using RpcOverShm.Calls;
using RpcOverShm.Scheduling;

namespace RpcOverShm.Servers;

/// <summary>
/// What all calls of one server have in common. Made by the server from its checked options.
/// </summary>
internal sealed record ServerSettings
{
    /// <summary>Null for any size.</summary>
    public required int? MaxReceiveMessageBytes { get; init; }

    /// <summary>Null for any size.</summary>
    public required int? MaxSendMessageBytes { get; init; }

    /// <summary>How responses are encoded unless their call says otherwise; null for not at all.</summary>
    public string? ResponseEncoding { get; init; }

    public CompressionLevel ResponseCompressionLevel { get; init; } = CompressionLevel.Fastest;

    /// <summary>
    /// Bytes of messages that a call takes before it has given credit: what the server announces to clients.
    /// </summary>
    public required uint CallWindow { get; init; }

    /// <summary>How many calls of one connection are admitted at a time.</summary>
    public required uint MaxCalls { get; init; }

    /// <summary>Bytes of metadata that a request may carry.</summary>
    public required uint MaxMetadataBytes { get; init; }

    /// <summary>Whether clients are told what a handler threw.</summary>
    public required bool HasDetailedErrors { get; init; }

    /// <summary>Whether requests are parsed where the client wrote them.</summary>
    public required bool AllowInPlaceParsing { get; init; }

    /// <summary>Where methods run.</summary>
    public required SchedulingMode Scheduling { get; init; }

    /// <summary>Empty until the server starts: services are added before.</summary>
    public MethodTable Methods { get; init; } = new([], []);

    public required ILogger Logger { get; init; }

    /// <summary>Writes responses of calls that are encoded.</summary>
    /// <param name="marshaller">The method's.</param>
    /// <param name="options">Of this response; null for none.</param>
    public Marshaller<T> Encoded<T>(Marshaller<T> marshaller, WriteOptions? options) => MessageEncoding.Writing(
        marshaller, MessageEncoding.MayCompress(options), ResponseCompressionLevel, MaxSendMessageBytes);
}
