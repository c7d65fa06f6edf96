namespace Grpc.Core.Api.Tests.Fakes;

/// <summary>Notes what channel credentials say of themselves.</summary>
internal sealed class RecordingChannelCredentialsConfigurator : ChannelCredentialsConfiguratorBase
{
    internal List<string> Calls { get; } = [];

    internal object? State { get; private set; }

    internal string? RootCertificates { get; private set; }

    internal KeyCertificatePair? KeyCertificatePair { get; private set; }

    internal VerifyPeerCallback? VerifyPeerCallback { get; private set; }

    internal ChannelCredentials? ChannelPart { get; private set; }

    internal CallCredentials? CallPart { get; private set; }

    public override void SetInsecureCredentials(object state) => Note("insecure", state);

    public override void SetSslCredentials(
        object state,
        string? rootCertificates,
        KeyCertificatePair? keyCertificatePair,
        VerifyPeerCallback? verifyPeerCallback)
    {
        Note("ssl", state);
        RootCertificates = rootCertificates;
        KeyCertificatePair = keyCertificatePair;
        VerifyPeerCallback = verifyPeerCallback;
    }

    public override void SetCompositeCredentials(
        object state,
        ChannelCredentials channelCredentials,
        CallCredentials callCredentials)
    {
        Note("composite", state);
        ChannelPart = channelCredentials;
        CallPart = callCredentials;
    }

    private void Note(string call, object state)
    {
        Calls.Add(call);
        State = state;
    }
}
