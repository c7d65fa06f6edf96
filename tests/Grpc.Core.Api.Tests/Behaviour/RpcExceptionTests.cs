using Grpc.Core.Api.Tests.Fakes;

namespace Grpc.Core.Api.Tests.Behaviour;

public class RpcExceptionTests
{
    private static readonly Status s_status = new(StatusCode.NotFound, "gone");
    private static readonly Metadata s_trailers = [new("key", "value")];

    [Test]
    public void Constructor_Status_MakesMessageFromIt()
    {
        var exception = new RpcException(s_status);

        Assert.That(exception.Message, Is.EqualTo("Status(StatusCode=\"NotFound\", Detail=\"gone\")"));
        Assert.That(exception.Status, Is.EqualTo(s_status));
        Assert.That(exception.StatusCode, Is.EqualTo(StatusCode.NotFound));
        Assert.That(exception.Trailers, Is.SameAs(Metadata.Empty));
    }

    [Test]
    public void Constructor_StatusAndMessage_KeepsTheMessage()
    {
        var exception = new RpcException(s_status, "message");

        Assert.That(exception.Message, Is.EqualTo("message"));
        Assert.That(exception.Status, Is.EqualTo(s_status));
        Assert.That(exception.Trailers, Is.SameAs(Metadata.Empty));
    }

    [Test]
    public void Constructor_StatusAndTrailers_KeepsTheTrailers()
    {
        var exception = new RpcException(s_status, s_trailers);

        Assert.That(exception.Message, Is.EqualTo(s_status.ToString()));
        Assert.That(exception.Trailers, Is.SameAs(s_trailers));
    }

    [Test]
    public void Constructor_AllThree_KeepsThem()
    {
        var exception = new RpcException(s_status, s_trailers, "message");

        Assert.That(exception.Message, Is.EqualTo("message"));
        Assert.That(exception.Status, Is.EqualTo(s_status));
        Assert.That(exception.Trailers, Is.SameAs(s_trailers));
    }

    [Test]
    public void Constructor_NullTrailers_ThrowsArgumentNull()
    {
        Assert.That(() => new RpcException(s_status, (Metadata)null!), Errors.NullArgument("trailers"));
        Assert.That(() => new RpcException(s_status, null!, "message"), Errors.NullArgument("trailers"));
    }

    [Test]
    public void InnerException_OfStatusWithException_IsThatException()
    {
        var cause = new InvalidOperationException("broken");
        var exception = new RpcException(new Status(StatusCode.Internal, "bad", cause));

        Assert.That(exception.InnerException, Is.SameAs(cause));
        Assert.That(exception.Message, Does.Contain("System.InvalidOperationException: broken"));
        Assert.That(new RpcException(s_status).InnerException, Is.Null);
    }
}
