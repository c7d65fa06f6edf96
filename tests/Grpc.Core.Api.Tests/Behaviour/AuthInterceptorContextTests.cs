using Grpc.Core.Api.Tests.Fakes;

namespace Grpc.Core.Api.Tests.Behaviour;

public class AuthInterceptorContextTests
{
    [Test]
    public void Constructor_WithoutToken_CannotBeCancelled()
    {
        var context = new AuthInterceptorContext("https://host/service", "Method");

        Assert.That(context.ServiceUrl, Is.EqualTo("https://host/service"));
        Assert.That(context.MethodName, Is.EqualTo("Method"));
        Assert.That(context.CancellationToken, Is.EqualTo(CancellationToken.None));
    }

    [Test]
    public void Constructor_WithToken_KeepsIt()
    {
        using var source = new CancellationTokenSource();

        var context = new AuthInterceptorContext("https://host/service", "Method", source.Token);

        Assert.That(context.CancellationToken, Is.EqualTo(source.Token));
    }

    [Test]
    public void Constructor_Null_ThrowsArgumentNull()
    {
        Assert.That(() => new AuthInterceptorContext(null!, "Method"), Errors.NullArgument("serviceUrl"));
        Assert.That(() => new AuthInterceptorContext("https://host", null!), Errors.NullArgument("methodName"));
    }
}
