using Grpc.Core.Utils;

namespace Grpc.Core;

/// <summary>What an <see cref="AsyncAuthInterceptor"/> is told about the call it authorises.</summary>
public class AuthInterceptorContext
{
    public AuthInterceptorContext(string serviceUrl, string methodName)
        : this(serviceUrl, methodName, CancellationToken.None)
    {
    }

    public AuthInterceptorContext(string serviceUrl, string methodName, CancellationToken cancellationToken)
    {
        ServiceUrl = GrpcPreconditions.CheckNotNull(serviceUrl, nameof(serviceUrl));
        MethodName = GrpcPreconditions.CheckNotNull(methodName, nameof(methodName));
        CancellationToken = cancellationToken;
    }

    public string ServiceUrl { get; }

    public string MethodName { get; }

    public CancellationToken CancellationToken { get; }
}
