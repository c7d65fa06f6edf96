namespace Grpc.Core.Interceptors;

/// <summary>The same as <see cref="CallInvokerExtensions"/>, for the invoker of a channel.</summary>
public static class ChannelExtensions
{
    public static CallInvoker Intercept(this ChannelBase channel, Interceptor interceptor) =>
        channel.CreateCallInvoker().Intercept(interceptor);

    public static CallInvoker Intercept(this ChannelBase channel, params Interceptor[] interceptors) =>
        channel.CreateCallInvoker().Intercept(interceptors);

    public static CallInvoker Intercept(this ChannelBase channel, Func<Metadata, Metadata> interceptor) =>
        channel.CreateCallInvoker().Intercept(interceptor);
}
