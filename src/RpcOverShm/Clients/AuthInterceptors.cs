using Grpc.Core;

namespace RpcOverShm.Clients;

/// <summary>Flattens call credentials into the interceptors that add metadata to a call, in order.</summary>
internal sealed class AuthInterceptors : CallCredentialsConfiguratorBase
{
    private readonly List<AsyncAuthInterceptor> _found = [];

    private AuthInterceptors()
    {
    }

    public static IReadOnlyList<AsyncAuthInterceptor> Of(CallCredentials credentials)
    {
        var interceptors = new AuthInterceptors();
        credentials.InternalPopulateConfiguration(interceptors, state: null);
        return interceptors._found;
    }

    public override void SetCompositeCredentials(object? state, IReadOnlyList<CallCredentials> credentials)
    {
        foreach (CallCredentials one in credentials)
        {
            one.InternalPopulateConfiguration(this, state);
        }
    }

    public override void SetAsyncAuthInterceptorCredentials(object? state, AsyncAuthInterceptor interceptor) =>
        _found.Add(interceptor);
}
