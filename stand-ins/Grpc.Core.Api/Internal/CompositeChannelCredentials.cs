using Grpc.Core.Utils;

namespace Grpc.Core.Internal;

/// <summary>Channel credentials together with the call credentials that every call of the channel carries.</summary>
internal sealed class CompositeChannelCredentials : ChannelCredentials
{
    private readonly ChannelCredentials _channelCredentials;
    private readonly CallCredentials _callCredentials;

    internal CompositeChannelCredentials(ChannelCredentials channelCredentials, CallCredentials callCredentials)
    {
        _channelCredentials = GrpcPreconditions.CheckNotNull(channelCredentials, nameof(channelCredentials));
        _callCredentials = GrpcPreconditions.CheckNotNull(callCredentials, nameof(callCredentials));
    }

    public override void InternalPopulateConfiguration(ChannelCredentialsConfiguratorBase configurator, object state)
    {
        configurator.SetCompositeCredentials(state, _channelCredentials, _callCredentials);
    }
}
