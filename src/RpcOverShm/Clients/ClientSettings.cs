using Grpc.Core;
using Microsoft.Extensions.Logging;
using RpcOverShm.Calls;
using RpcOverShm.Scheduling;

namespace RpcOverShm.Clients;

/// <summary>What all calls of one channel have in common. Made by the channel from its checked options.</summary>
internal sealed record ClientSettings
{
    /// <summary>Null for any size.</summary>
    public required int? MaxReceiveMessageBytes { get; init; }

    /// <summary>Null for any size.</summary>
    public required int? MaxSendMessageBytes { get; init; }

    /// <summary>
    /// Bytes of messages that a call takes before it has given credit: what the channel announces to servers.
    /// </summary>
    public required uint CallWindow { get; init; }

    /// <summary>Null for the generated marshallers.</summary>
    public required MarshallerProvider? Codec { get; init; }

    /// <summary>Whether responses are parsed where the server wrote them.</summary>
    public required bool AllowInPlaceParsing { get; init; }

    /// <summary>Whether a call that this side has given up throws as a cancelled operation.</summary>
    public required bool ThrowsOperationCanceled { get; init; }

    /// <summary>Asked for metadata of every call, after the call's own. Empty for none.</summary>
    public required IReadOnlyList<AsyncAuthInterceptor> Credentials { get; init; }

    /// <summary>What credentials are told of the server, without a method.</summary>
    public required string Authority { get; init; }

    /// <summary>Where continuations run.</summary>
    public required SchedulingMode Scheduling { get; init; }

    public required ILogger Logger { get; init; }

    /// <summary>How the channel stands to its server.</summary>
    public Connectivity Connectivity { get; init; } = new();
}
