using Grpc.Core.Api.Tests.Fakes;
using TestCertificates = RpcOverShm.Testing.TestCertificates;

namespace Grpc.Core.Api.Tests.OverTheWire;

/// <summary>
/// Call credentials and peer identities. The C core lets them travel protected only, so these tests have certificates
/// of their own.
/// </summary>
public class CredentialsTests
{
    private static readonly KeyCertificatePair s_server = TestCertificates.Create("localhost");
    private static readonly KeyCertificatePair s_client = TestCertificates.Create("client.example");
    private static readonly SslCredentials s_trusting = new(s_server.CertificateChain);

    private readonly List<string> _authorizations = [];

    [Test]
    public async Task CallCredentials_OfCall_AddTheirHeaders()
    {
        await using var rig = Rig(s_trusting);

        await Call(rig, new CallOptions().WithCredentials(Bearer("one"))).Bounded();

        Assert.That(_authorizations, Is.EqualTo(["one"]));
    }

    [Test]
    public async Task CallCredentials_OfChannel_AddTheirHeadersToEveryCall()
    {
        await using var rig = Rig(ChannelCredentials.Create(s_trusting, Bearer("channel")));

        await Call(rig).Bounded();
        await Call(rig).Bounded();

        Assert.That(_authorizations, Is.EqualTo(["channel", "channel"]));
    }

    [Test]
    public async Task CallCredentials_Composed_AddAllTheirHeaders()
    {
        await using var rig = Rig(s_trusting);
        var credentials = CallCredentials.Compose(Bearer("one"), Bearer("two"), Bearer("three"));

        await Call(rig, new CallOptions(credentials: credentials)).Bounded();

        Assert.That(_authorizations, Is.EquivalentTo(["one", "two", "three"]));
    }

    [Test]
    public async Task CallCredentials_Asked_AreToldOfTheCall()
    {
        AuthInterceptorContext? asked = null;
        await using var rig = Rig(s_trusting);
        var credentials = CallCredentials.FromInterceptor((context, _) =>
        {
            asked = context;
            return Task.CompletedTask;
        });

        await Call(rig, new CallOptions(credentials: credentials)).Bounded();

        Assert.That(asked!.ServiceUrl, Is.EqualTo("https://localhost/test.Echo"));
        Assert.That(asked!.MethodName, Is.EqualTo("Unary"));
    }

    [Test]
    public async Task CallCredentials_Failing_FailTheCall()
    {
        await using var rig = Rig(s_trusting);
        var credentials = CallCredentials.FromInterceptor((_, _) => Task.FromException(new TimeoutException()));

        var failure = await BoundedTasks.FailureOf(Call(rig, new CallOptions(credentials: credentials)).ResponseAsync);

        Assert.That(failure.StatusCode, Is.EqualTo(StatusCode.Unavailable));
        Assert.That(_authorizations, Is.Empty);
    }

    [Test]
    public async Task AuthContext_OfClientWithCertificate_HasItsName()
    {
        var seen = (Name: (string?)null, Identity: Array.Empty<string>(), Certificate: "");
        await using var rig = GrpcCoreRig.StartSecure(
            builder => builder.AddMethod(TestMethods.Unary, (request, context) =>
            {
                var peer = context.AuthContext;
                seen = (
                    peer.PeerIdentityPropertyName,
                    [.. peer.PeerIdentity.Select(property => property.Value)],
                    peer.FindPropertiesByName("x509_pem_cert").Single().Value);
                return Task.FromResult(request);
            }),
            new SslServerCredentials(
                [s_server],
                s_client.CertificateChain,
                SslClientCertificateRequestType.RequestAndRequireAndVerify),
            new SslCredentials(s_server.CertificateChain, s_client));

        await Call(rig).Bounded();

        Assert.That(seen.Name, Is.EqualTo("x509_subject_alternative_name"));
        Assert.That(seen.Identity, Is.EqualTo(["client.example"]));
        Assert.That(seen.Certificate.Trim(), Is.EqualTo(s_client.CertificateChain.Trim()));
    }

    [Test]
    public async Task VerifyPeerCallback_Agreeing_IsToldOfThePeer()
    {
        VerifyPeerContext? asked = null;
        var credentials = new SslCredentials(s_server.CertificateChain, null, context =>
        {
            asked = context;
            return true;
        });
        await using var rig = Rig(credentials);

        Assert.That(await Call(rig).Bounded(), Is.EqualTo("request"));
        Assert.That(asked!.TargetName, Is.EqualTo("localhost"));
        Assert.That(asked!.PeerPem.Trim(), Is.EqualTo(s_server.CertificateChain.Trim()));
    }

    [Test]
    public async Task VerifyPeerCallback_Refusing_FailsTheCall()
    {
        await using var rig = Rig(new SslCredentials(s_server.CertificateChain, null, _ => false));

        var failure = await BoundedTasks.FailureOf(Call(rig).ResponseAsync);

        Assert.That(failure.StatusCode, Is.EqualTo(StatusCode.Unavailable));
    }

    private GrpcCoreRig Rig(ChannelCredentials credentials)
    {
        return GrpcCoreRig.StartSecure(
            builder => builder.AddMethod(TestMethods.Unary, (request, context) =>
            {
                var found = context.RequestHeaders.GetAll("authorization").Select(entry => entry.Value);
                _authorizations.AddRange(found);
                return Task.FromResult(request);
            }),
            new SslServerCredentials([s_server]),
            credentials);
    }

    private static AsyncUnaryCall<string> Call(GrpcCoreRig rig, CallOptions options = default)
    {
        return rig.Invoker.AsyncUnaryCall(TestMethods.Unary, null, options, "request");
    }

    private static CallCredentials Bearer(string token)
    {
        return CallCredentials.FromInterceptor((_, metadata) =>
        {
            metadata.Add("authorization", token);
            return Task.CompletedTask;
        });
    }
}
