namespace RpcOverShm.Diagnostics;

/// <summary>
/// All names of traces and metrics. Those that begin with <c>rpc.</c> are of OpenTelemetry's conventions for RPC, which
/// are a release candidate and may still change; the others are the library's own.
/// </summary>
internal static class TelemetryNames
{
    public const string ClientSource = "RpcOverShm.Client";
    public const string ServerSource = "RpcOverShm.Server";
    public const string Meter = "RpcOverShm";

    // Tags of OpenTelemetry.
    public const string System = "rpc.system.name";
    public const string SystemValue = "rpcovershm";
    public const string Method = "rpc.method";
    public const string StatusCode = "rpc.response.status_code";
    public const string ErrorType = "error.type";
    public const string ServerAddress = "server.address";

    // Instruments of OpenTelemetry.
    public const string ClientDuration = "rpc.client.call.duration";
    public const string ServerDuration = "rpc.server.call.duration";

    // Own instruments and their tags.
    public const string ClientActiveCalls = "rpcovershm.client.active_calls";
    public const string ServerActiveCalls = "rpcovershm.server.active_calls";
    public const string QueuedCalls = "rpcovershm.server.queued_calls";
    public const string OneWayFailed = "rpcovershm.oneway.failed";
    public const string Status = "status"; // of OneWayFailed: the name of the status code
    public const string Sessions = "rpcovershm.server.sessions";
    public const string Connections = "rpcovershm.connections";
    public const string RingUnread = "rpcovershm.ring.unread";
    public const string RingGrowths = "rpcovershm.ring.growths";
    public const string RingStalls = "rpcovershm.ring.stalls";
    public const string WakeUps = "rpcovershm.wakeups";
    public const string LostWakeUps = "rpcovershm.wakeups.lost";
    public const string Spins = "rpcovershm.spins";
    public const string TakeOvers = "rpcovershm.loop.takeovers";
    public const string PeerDeaths = "rpcovershm.peer.deaths";
    public const string PayloadsSent = "rpcovershm.payloads.sent";
    public const string PayloadsLent = "rpcovershm.payloads.lent";
    public const string PayloadsBorrowed = "rpcovershm.payloads.borrowed";
    public const string TopicSubscribers = "rpcovershm.topic.subscribers";
    public const string TopicMessages = "rpcovershm.topic.messages";
    public const string LimitReached = "rpcovershm.limit.reached";
    public const string Option = "option"; // of LimitReached: the public option
    public const string Side = "side";     // of Connections: "client" or "server"
    public const string How = "how";       // of WakeUps: "futex" or "doorbell"; of PayloadsSent: "lent" or "copied"
    public const string Result = "result"; // of Spins: "met" or "vain"
}
