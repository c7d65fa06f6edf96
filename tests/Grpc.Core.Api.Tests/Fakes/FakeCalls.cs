namespace Grpc.Core.Api.Tests.Fakes;

/// <summary>Call objects that are over at once.</summary>
internal static class FakeCalls
{
    private static readonly Task<Metadata> s_headers = Task.FromResult(Metadata.Empty);

    internal static AsyncUnaryCall<TResponse> Unary<TResponse>(TResponse response)
    {
        return new AsyncUnaryCall<TResponse>(
            Task.FromResult(response), s_headers, () => Status.DefaultSuccess, () => Metadata.Empty, () => { });
    }

    internal static AsyncServerStreamingCall<TResponse> ServerStreaming<TResponse>()
    {
        return new AsyncServerStreamingCall<TResponse>(
            new FakeStreamReader<TResponse>(), s_headers, () => Status.DefaultSuccess, () => Metadata.Empty, () => { });
    }

    internal static AsyncClientStreamingCall<TRequest, TResponse> ClientStreaming<TRequest, TResponse>()
    {
        return new AsyncClientStreamingCall<TRequest, TResponse>(
            new FakeStreamWriter<TRequest>(),
            Task.FromResult<TResponse>(default!),
            s_headers,
            () => Status.DefaultSuccess,
            () => Metadata.Empty,
            () => { });
    }

    internal static AsyncDuplexStreamingCall<TRequest, TResponse> DuplexStreaming<TRequest, TResponse>()
    {
        return new AsyncDuplexStreamingCall<TRequest, TResponse>(
            new FakeStreamWriter<TRequest>(),
            new FakeStreamReader<TResponse>(),
            s_headers,
            () => Status.DefaultSuccess,
            () => Metadata.Empty,
            () => { });
    }
}
