using Grpc.Core.Api.Tests.Fakes;

namespace Grpc.Core.Api.Tests.Behaviour;

public class ChannelCredentialsTests
{
    private static readonly CallCredentials s_callCredentials =
        CallCredentials.FromInterceptor((_, _) => Task.CompletedTask);

    [Test]
    public void Insecure_Configured_SaysSo()
    {
        var configurator = new RecordingChannelCredentialsConfigurator();
        var state = new object();

        ChannelCredentials.Insecure.InternalPopulateConfiguration(configurator, state);

        Assert.That(configurator.Calls, Is.EqualTo(["insecure"]));
        Assert.That(configurator.State, Is.SameAs(state));
    }

    [Test]
    public void SecureSsl_Configured_IsSslWithNothingSet()
    {
        var configurator = new RecordingChannelCredentialsConfigurator();

        ChannelCredentials.SecureSsl.InternalPopulateConfiguration(configurator, new object());

        Assert.That(configurator.Calls, Is.EqualTo(["ssl"]));
        Assert.That(configurator.RootCertificates, Is.Null);
        Assert.That(configurator.KeyCertificatePair, Is.Null);
        Assert.That(configurator.VerifyPeerCallback, Is.Null);
    }

    [Test]
    public void StaticCredentials_AskedTwice_AreTheSame()
    {
        var insecure = ChannelCredentials.Insecure;
        var secure = ChannelCredentials.SecureSsl;

        Assert.That(ChannelCredentials.Insecure, Is.SameAs(insecure));
        Assert.That(ChannelCredentials.SecureSsl, Is.SameAs(secure).And.TypeOf<SslCredentials>());
    }

    [Test]
    public void Create_WithSsl_HandsOverBothParts()
    {
        AssertComposed(new SslCredentials());
    }

    [Test]
    public void Create_WithInsecure_IsAllowedHere()
    {
        // Whether call credentials may travel unprotected is for the transport to say, not for this library.
        AssertComposed(ChannelCredentials.Insecure);
    }

    [Test]
    public void Create_WithComposite_Nests()
    {
        AssertComposed(ChannelCredentials.Create(ChannelCredentials.SecureSsl, s_callCredentials));
    }

    [Test]
    public void Create_NullPart_ThrowsArgumentNull()
    {
        Assert.That(
            () => ChannelCredentials.Create(null!, s_callCredentials), Errors.NullArgument("channelCredentials"));
        Assert.That(
            () => ChannelCredentials.Create(ChannelCredentials.SecureSsl, null!),
            Errors.NullArgument("callCredentials"));
    }

    private static void AssertComposed(ChannelCredentials channelCredentials)
    {
        var configurator = new RecordingChannelCredentialsConfigurator();
        var state = new object();

        ChannelCredentials.Create(channelCredentials, s_callCredentials)
            .InternalPopulateConfiguration(configurator, state);

        Assert.That(configurator.Calls, Is.EqualTo(["composite"]));
        Assert.That(configurator.State, Is.SameAs(state));
        Assert.That(configurator.ChannelPart, Is.SameAs(channelCredentials));
        Assert.That(configurator.CallPart, Is.SameAs(s_callCredentials));
    }
}
