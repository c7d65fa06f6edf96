using Grpc.Core.Api.Tests.Fakes;

namespace Grpc.Core.Api.Tests.Behaviour;

public class ServerCallContextTests
{
    [Test]
    public void Properties_Read_ComeFromTheCore()
    {
        using var source = new CancellationTokenSource();
        var context = new FakeServerCallContext(source.Token);

        Assert.That(context.Method, Is.EqualTo("/test.Echo/Unary"));
        Assert.That(context.Host, Is.EqualTo("host"));
        Assert.That(context.Peer, Is.EqualTo("peer"));
        Assert.That(context.Deadline, Is.EqualTo(new DateTime(2030, 1, 2, 3, 4, 5, DateTimeKind.Utc)));
        Assert.That(context.RequestHeaders.GetValue("asked"), Is.EqualTo("yes"));
        Assert.That(context.CancellationToken, Is.EqualTo(source.Token));
        Assert.That(context.AuthContext.PeerIdentityPropertyName, Is.EqualTo("x509"));
    }

    [Test]
    public void ResponseTrailers_AskedTwice_AreTheSame()
    {
        var context = new FakeServerCallContext();

        context.ResponseTrailers.Add("key", "value");

        Assert.That(context.ResponseTrailers.GetValue("key"), Is.EqualTo("value"));
    }

    [Test]
    public void StatusAndWriteOptions_Set_ReachTheCore()
    {
        var status = new Status(StatusCode.Aborted, "stop");
        var options = new WriteOptions(WriteFlags.BufferHint);

        var context = new FakeServerCallContext { Status = status, WriteOptions = options };

        Assert.That(context.Status, Is.EqualTo(status));
        Assert.That(context.WriteOptions, Is.SameAs(options));
    }

    [Test]
    public async Task WriteResponseHeadersAsync_Headers_ReachTheCore()
    {
        var context = new FakeServerCallContext();
        Metadata headers = [];

        await context.WriteResponseHeadersAsync(headers);

        Assert.That(context.WrittenHeaders, Is.SameAs(headers));
    }

    [Test]
    public void CreatePropagationToken_Options_ReachTheCore()
    {
        var context = new FakeServerCallContext();
        var options = new ContextPropagationOptions(propagateDeadline: false);

        context.CreatePropagationToken(options);
        Assert.That(context.PropagationOptions, Is.SameAs(options));

        context.CreatePropagationToken();
        Assert.That(context.PropagationOptions, Is.Null);
    }

    [Test]
    public void UserState_NotOverridden_IsOneDictionaryPerContext()
    {
        var context = new FakeServerCallContext();

        context.UserState["key"] = 1;

        Assert.That(context.UserState["key"], Is.EqualTo(1));
        Assert.That(new FakeServerCallContext().UserState, Is.Empty);
    }
}
