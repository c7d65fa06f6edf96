namespace Grpc.Core;

/// <summary>Implemented by a transport: credentials describe themselves by calling it back.</summary>
public abstract class ChannelCredentialsConfiguratorBase
{
    public abstract void SetInsecureCredentials(object state);

    public abstract void SetSslCredentials(
        object state,
        string? rootCertificates,
        KeyCertificatePair? keyCertificatePair,
        VerifyPeerCallback? verifyPeerCallback);

    public abstract void SetCompositeCredentials(
        object state,
        ChannelCredentials channelCredentials,
        CallCredentials callCredentials);
}
