using System.Text.Json;
using System.Text.Json.Serialization;

namespace RpcOverShm.Perf.Peer.Control;

/// <summary>How requests and replies are written, on both sides.</summary>
internal static class ControlJson
{
    /// <summary>The first line of a peer, before any request: it has started.</summary>
    public const string Ready = "ready";

    public static readonly JsonSerializerOptions Options = new()
    {
        DefaultIgnoreCondition = JsonIgnoreCondition.WhenWritingNull,
        Converters = { new JsonStringEnumConverter() },
    };
}
