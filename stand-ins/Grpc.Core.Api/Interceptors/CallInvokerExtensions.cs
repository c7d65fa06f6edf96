using Grpc.Core.Utils;

namespace Grpc.Core.Interceptors;

/// <summary>
/// Puts interceptors in front of an invoker. Of one call's list the first is in control first; of several calls it is
/// the last, which wraps all that were there before.
/// </summary>
public static class CallInvokerExtensions
{
    public static CallInvoker Intercept(this CallInvoker invoker, Interceptor interceptor) =>
        new InterceptingCallInvoker(invoker, interceptor);

    public static CallInvoker Intercept(this CallInvoker invoker, params Interceptor[] interceptors)
    {
        GrpcPreconditions.CheckNotNull(invoker, nameof(invoker));
        GrpcPreconditions.CheckNotNull(interceptors, nameof(interceptors));

        for (var i = interceptors.Length - 1; i >= 0; i--)
        {
            invoker = invoker.Intercept(interceptors[i]);
        }

        return invoker;
    }

    public static CallInvoker Intercept(this CallInvoker invoker, Func<Metadata, Metadata> interceptor) =>
        new InterceptingCallInvoker(invoker, new MetadataInterceptor(interceptor));
}
