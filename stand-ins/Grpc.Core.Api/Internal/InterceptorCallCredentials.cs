using Grpc.Core.Utils;

namespace Grpc.Core.Internal;

/// <summary>Call credentials that consist of one function.</summary>
internal sealed class InterceptorCallCredentials : CallCredentials
{
    private readonly AsyncAuthInterceptor _interceptor;

    internal InterceptorCallCredentials(AsyncAuthInterceptor interceptor)
    {
        _interceptor = GrpcPreconditions.CheckNotNull(interceptor, nameof(interceptor));
    }

    public override void InternalPopulateConfiguration(CallCredentialsConfiguratorBase configurator, object? state)
    {
        configurator.SetAsyncAuthInterceptorCredentials(state, _interceptor);
    }
}
