namespace Grpc.Core;

/// <summary>Implemented by a transport: credentials describe themselves by calling it back.</summary>
public abstract class CallCredentialsConfiguratorBase
{
    public abstract void SetCompositeCredentials(object? state, IReadOnlyList<CallCredentials> credentials);

    public abstract void SetAsyncAuthInterceptorCredentials(object? state, AsyncAuthInterceptor interceptor);
}
