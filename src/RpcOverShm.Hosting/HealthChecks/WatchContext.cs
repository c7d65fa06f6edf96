using Grpc.Core;

namespace RpcOverShm.Hosting.HealthChecks;

/// <summary>The context of a call with a token of its own.</summary>
internal sealed class WatchContext(ServerCallContext call, CancellationToken token) : ServerCallContext
{
    protected override string MethodCore => call.Method;

    protected override string HostCore => call.Host;

    protected override string PeerCore => call.Peer;

    protected override DateTime DeadlineCore => call.Deadline;

    protected override Metadata RequestHeadersCore => call.RequestHeaders;

    protected override CancellationToken CancellationTokenCore => token;

    protected override Metadata ResponseTrailersCore => call.ResponseTrailers;

    protected override Status StatusCore
    {
        get => call.Status;
        set => call.Status = value;
    }

    protected override WriteOptions? WriteOptionsCore
    {
        get => call.WriteOptions;
        set => call.WriteOptions = value;
    }

    protected override AuthContext AuthContextCore => call.AuthContext;

    protected override IDictionary<object, object> UserStateCore => call.UserState;

    protected override ContextPropagationToken CreatePropagationTokenCore(ContextPropagationOptions? options) =>
        call.CreatePropagationToken(options);

    protected override Task WriteResponseHeadersAsyncCore(Metadata responseHeaders) =>
        call.WriteResponseHeadersAsync(responseHeaders);
}
