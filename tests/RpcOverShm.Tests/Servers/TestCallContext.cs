using Grpc.Core;

namespace RpcOverShm.Tests.Servers;

/// <summary>The context of a call that no server has.</summary>
internal sealed class TestCallContext(bool isCancelled = false) : ServerCallContext
{
    protected override string MethodCore => "";

    protected override string HostCore => "";

    protected override string PeerCore => "";

    protected override DateTime DeadlineCore => DateTime.MaxValue;

    protected override Metadata RequestHeadersCore => [];

    protected override CancellationToken CancellationTokenCore => new(isCancelled);

    protected override Metadata ResponseTrailersCore => [];

    protected override Status StatusCore { get; set; }

    protected override WriteOptions? WriteOptionsCore { get; set; }

    protected override AuthContext AuthContextCore => new(null, []);

    protected override ContextPropagationToken CreatePropagationTokenCore(ContextPropagationOptions? options) =>
        throw new NotSupportedException();

    protected override Task WriteResponseHeadersAsyncCore(Metadata responseHeaders) => Task.CompletedTask;
}
