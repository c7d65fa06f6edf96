namespace Grpc.Core.Api.Tests.Fakes;

/// <summary>Answers each Core member with something to tell it by. User state is left to the base class.</summary>
internal sealed class FakeServerCallContext(CancellationToken cancellationToken = default) : ServerCallContext
{
    internal Metadata? WrittenHeaders { get; private set; }

    internal ContextPropagationOptions? PropagationOptions { get; private set; }

    protected override string MethodCore => "/test.Echo/Unary";

    protected override string HostCore => "host";

    protected override string PeerCore => "peer";

    protected override DateTime DeadlineCore { get; } = new(2030, 1, 2, 3, 4, 5, DateTimeKind.Utc);

    protected override Metadata RequestHeadersCore { get; } = [new Metadata.Entry("asked", "yes")];

    protected override CancellationToken CancellationTokenCore => cancellationToken;

    protected override Metadata ResponseTrailersCore { get; } = [];

    protected override Status StatusCore { get; set; }

    protected override WriteOptions? WriteOptionsCore { get; set; }

    protected override AuthContext AuthContextCore { get; } = new("x509", []);

    protected override Task WriteResponseHeadersAsyncCore(Metadata responseHeaders)
    {
        WrittenHeaders = responseHeaders;
        return Task.CompletedTask;
    }

    protected override ContextPropagationToken CreatePropagationTokenCore(ContextPropagationOptions? options)
    {
        PropagationOptions = options;
        return null!;
    }
}
