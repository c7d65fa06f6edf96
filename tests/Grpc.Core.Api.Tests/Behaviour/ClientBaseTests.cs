using Grpc.Core.Api.Tests.Fakes;

namespace Grpc.Core.Api.Tests.Behaviour;

public class ClientBaseTests
{
    private readonly RecordingCallInvoker _invoker = new();

    [Test]
    public void Constructor_Channel_CallsThroughItsInvoker()
    {
        var client = new FakeService.FakeClient(new FakeChannel("shm://x", _invoker));

        Call(client);

        Assert.That(_invoker.LastCall.Request, Is.EqualTo("request"));
    }

    [Test]
    public void Constructor_Invoker_CallsThroughIt()
    {
        Call(new FakeService.FakeClient(_invoker));

        Assert.That(_invoker.LastCall.Request, Is.EqualTo("request"));
    }

    [Test]
    public void CallInvoker_OfClient_IsNotTheOneItWasMadeWith()
    {
        // It is wrapped, so that the host of the client's configuration reaches every call.
        Assert.That(new FakeService.FakeClient(_invoker).Invoker, Is.Not.SameAs(_invoker));
    }

    [TestCaseSource(typeof(EveryCall), nameof(EveryCall.Kinds))]
    public void Constructor_NoArguments_ThrowsNotImplementedOnCall(string kind)
    {
        // Such a client is for test doubles, in the package too.
        var client = new FakeService.FakeClient();

        Assert.That(() => EveryCall.Start(kind, client.Invoker), Throws.TypeOf<NotImplementedException>());
    }

    [Test]
    public void Constructor_Null_Throws()
    {
        Assert.That(
            () => new FakeService.FakeClient((CallInvoker)null!), Errors.NullArgument("undecoratedCallInvoker"));
        Assert.That(() => new FakeService.FakeClient((ChannelBase)null!), Throws.TypeOf<NullReferenceException>());
        Assert.That(FakeService.FakeClient.WithoutConfiguration, Errors.NullArgument("configuration"));
    }

    [Test]
    public void Call_WithoutHost_HasNone()
    {
        Call(new FakeService.FakeClient(_invoker));

        Assert.That(_invoker.LastCall.Host, Is.Null);
    }

    [Test]
    public void Call_PassingItsOwnHost_IsOverruled()
    {
        var client = new FakeService.FakeClient(_invoker);

        client.Invoker.BlockingUnaryCall(TestMethods.Unary, "own", new CallOptions(), "request");

        Assert.That(_invoker.LastCall.Host, Is.Null);
    }

    [TestCaseSource(typeof(EveryCall), nameof(EveryCall.Kinds))]
    public void WithHost_Call_HasThatHost(string kind)
    {
        var client = new FakeService.FakeClient(_invoker).WithHost("host");

        EveryCall.Start(kind, client.Invoker);

        Assert.That(_invoker.LastCall.Host, Is.EqualTo("host"));
    }

    [Test]
    public void WithHost_Twice_KeepsTheLast()
    {
        Call(new FakeService.FakeClient(_invoker).WithHost("first").WithHost("second"));

        Assert.That(_invoker.LastCall.Host, Is.EqualTo("second"));
    }

    [Test]
    public void WithHost_OtherClient_LeavesTheOriginalAlone()
    {
        var client = new FakeService.FakeClient(_invoker);
        _ = client.WithHost("host");

        Call(client);

        Assert.That(_invoker.LastCall.Host, Is.Null);
    }

    [Test]
    public void WithHost_Null_ThrowsArgumentNull()
    {
        Assert.That(() => new FakeService.FakeClient(_invoker).WithHost(null!), Errors.NullArgument("host"));
    }

    [Test]
    public void Call_WithOptions_PassesThemOn()
    {
        var headers = new Metadata { { "key", "value" } };

        new FakeService.FakeClient(_invoker).WithHost("host").Invoker.BlockingUnaryCall(
            TestMethods.Unary, null, new CallOptions(headers).WithWaitForReady(), "request");

        Assert.That(_invoker.LastCall.Options.Headers, Is.SameAs(headers));
        Assert.That(_invoker.LastCall.Options.IsWaitForReady);
    }

    private static void Call(FakeService.FakeClient client) => EveryCall.Start("blocking", client.Invoker);
}
