using Grpc.Core.Api.Tests.Fakes;

namespace Grpc.Core.Api.Tests.Behaviour;

public class SslCredentialsTests
{
    private static readonly KeyCertificatePair s_pair = new("certificate", "key");

    [Test]
    public void Constructor_NoArguments_SetsNothing()
    {
        var credentials = new SslCredentials();

        Assert.That(credentials.RootCertificates, Is.Null);
        Assert.That(credentials.KeyCertificatePair, Is.Null);
    }

    [Test]
    public void Constructor_Roots_SetsThem()
    {
        var credentials = new SslCredentials("roots");

        Assert.That(credentials.RootCertificates, Is.EqualTo("roots"));
        Assert.That(credentials.KeyCertificatePair, Is.Null);
    }

    [Test]
    public void Constructor_RootsAndPair_SetsBoth()
    {
        var credentials = new SslCredentials("roots", s_pair);

        Assert.That(credentials.RootCertificates, Is.EqualTo("roots"));
        Assert.That(credentials.KeyCertificatePair, Is.SameAs(s_pair));
    }

    [Test]
    public void InternalPopulateConfiguration_AllSet_HandsOverAll()
    {
        var configurator = new RecordingChannelCredentialsConfigurator();
        VerifyPeerCallback callback = _ => true;
        var state = new object();

        new SslCredentials("roots", s_pair, callback).InternalPopulateConfiguration(configurator, state);

        Assert.That(configurator.Calls, Is.EqualTo(["ssl"]));
        Assert.That(configurator.State, Is.SameAs(state));
        Assert.That(configurator.RootCertificates, Is.EqualTo("roots"));
        Assert.That(configurator.KeyCertificatePair, Is.SameAs(s_pair));
        Assert.That(configurator.VerifyPeerCallback, Is.SameAs(callback));
    }

    [Test]
    public void KeyCertificatePair_Made_KeepsBoth()
    {
        Assert.That(s_pair.CertificateChain, Is.EqualTo("certificate"));
        Assert.That(s_pair.PrivateKey, Is.EqualTo("key"));
    }

    [Test]
    public void KeyCertificatePair_Null_ThrowsArgumentNull()
    {
        Assert.That(() => new KeyCertificatePair(null!, "key"), Errors.NullArgument("certificateChain"));
        Assert.That(() => new KeyCertificatePair("certificate", null!), Errors.NullArgument("privateKey"));
    }
}
