using Grpc.Core.Internal;

namespace Grpc.Core;

public abstract class ChannelCredentials
{
    // Public on an abstract class, because it is so in the package.
    public ChannelCredentials()
    {
    }

    public static ChannelCredentials Insecure { get; } = new InsecureChannelCredentials();

    public static ChannelCredentials SecureSsl { get; } = new SslCredentials();

    /// <summary>
    /// Any pair can be composed, insecure channels included: whether the result is usable is for the transport's
    /// configurator to say.
    /// </summary>
    public static ChannelCredentials Create(ChannelCredentials channelCredentials, CallCredentials callCredentials)
    {
        return new CompositeChannelCredentials(channelCredentials, callCredentials);
    }

    public abstract void InternalPopulateConfiguration(ChannelCredentialsConfiguratorBase configurator, object state);
}
