using Grpc.Core.Internal;

namespace Grpc.Core;

public abstract class CallCredentials
{
    public static CallCredentials Compose(params CallCredentials[] credentials)
    {
        return new CompositeCallCredentials(credentials);
    }

    public static CallCredentials FromInterceptor(AsyncAuthInterceptor interceptor)
    {
        return new InterceptorCallCredentials(interceptor);
    }

    public abstract void InternalPopulateConfiguration(CallCredentialsConfiguratorBase configurator, object? state);
}
