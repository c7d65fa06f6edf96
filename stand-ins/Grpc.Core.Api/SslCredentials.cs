namespace Grpc.Core;

public sealed class SslCredentials : ChannelCredentials
{
    private readonly VerifyPeerCallback? _verifyPeerCallback;

    public SslCredentials()
        : this(null, null, null)
    {
    }

    public SslCredentials(string rootCertificates)
        : this(rootCertificates, null, null)
    {
    }

    public SslCredentials(string rootCertificates, KeyCertificatePair keyCertificatePair)
        : this(rootCertificates, keyCertificatePair, null)
    {
    }

    public SslCredentials(
        string? rootCertificates,
        KeyCertificatePair? keyCertificatePair,
        VerifyPeerCallback? verifyPeerCallback)
    {
        RootCertificates = rootCertificates;
        KeyCertificatePair = keyCertificatePair;
        _verifyPeerCallback = verifyPeerCallback;
    }

    public string? RootCertificates { get; }

    public KeyCertificatePair? KeyCertificatePair { get; }

    public override void InternalPopulateConfiguration(ChannelCredentialsConfiguratorBase configurator, object state)
    {
        configurator.SetSslCredentials(state, RootCertificates, KeyCertificatePair, _verifyPeerCallback);
    }
}
