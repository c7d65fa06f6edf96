using Grpc.Core.Utils;

namespace Grpc.Core.Interceptors;

/// <summary>Passes the headers of every call through a function; a call without any starts from an empty set.</summary>
internal sealed class MetadataInterceptor : ContextInterceptor
{
    private readonly Func<Metadata, Metadata> _interceptor;

    internal MetadataInterceptor(Func<Metadata, Metadata> interceptor)
    {
        _interceptor = GrpcPreconditions.CheckNotNull(interceptor, nameof(interceptor));
    }

    protected override ClientInterceptorContext<TRequest, TResponse> Change<TRequest, TResponse>(
        ClientInterceptorContext<TRequest, TResponse> context)
    {
        var headers = _interceptor(context.Options.Headers ?? []);
        var options = context.Options.WithHeaders(headers);
        return new ClientInterceptorContext<TRequest, TResponse>(context.Method, context.Host, options);
    }
}
