namespace Grpc.Core.Internal;

/// <summary>Channel credentials that ask for no protection at all.</summary>
internal sealed class InsecureChannelCredentials : ChannelCredentials
{
    public override void InternalPopulateConfiguration(ChannelCredentialsConfiguratorBase configurator, object state)
    {
        configurator.SetInsecureCredentials(state);
    }
}
