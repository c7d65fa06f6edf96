using Grpc.Core.Api.Tests.Fakes;
using Grpc.Core.Interceptors;

namespace Grpc.Core.Api.Tests.Behaviour;

/// <summary>How interceptors are put in front of an invoker or a channel, and in which order they act.</summary>
public class InterceptTests
{
    private readonly List<string> _log = [];
    private readonly RecordingCallInvoker _bottom = new();

    [TestCaseSource(typeof(EveryCall), nameof(EveryCall.Kinds))]
    public void Intercept_OneInterceptor_SeesCallFirst(string kind)
    {
        EveryCall.Start(kind, _bottom.Intercept(Trace("a")));

        Assert.That(_log, Is.EqualTo(["a"]));
        Assert.That(_bottom.Calls, Has.Count.EqualTo(1));
    }

    [TestCaseSource(typeof(EveryCall), nameof(EveryCall.Kinds))]
    public void Intercept_Several_ActInTheOrderGiven(string kind)
    {
        EveryCall.Start(kind, _bottom.Intercept(Trace("a"), Trace("b"), Trace("c")));

        Assert.That(_log, Is.EqualTo(["a", "b", "c"]));
    }

    [Test]
    public void Intercept_OneAfterAnother_LastActsFirst()
    {
        Start(_bottom.Intercept(Trace("c")).Intercept(Trace("b")).Intercept(Trace("a")));

        Assert.That(_log, Is.EqualTo(["a", "b", "c"]));
    }

    [Test]
    public void Intercept_NoInterceptors_IsTheInvokerItself()
    {
        Assert.That(_bottom.Intercept(), Is.SameAs(_bottom));
    }

    [Test]
    public void Intercept_Channel_DoesTheSameForItsInvoker()
    {
        var channel = new FakeChannel("shm://x", _bottom);

        Start(channel.Intercept(Trace("a"), Trace("b")));
        Start(channel.Intercept(Trace("c")));
        Start(channel.Intercept(headers =>
        {
            _log.Add("d");
            return headers;
        }));

        Assert.That(_log, Is.EqualTo(["a", "b", "c", "d"]));
        Assert.That(_bottom.Calls, Has.Count.EqualTo(3));
    }

    [Test]
    public void Intercept_Client_RunsBelowItsHost()
    {
        var client = new FakeService.FakeClient(_bottom.Intercept(Trace("a"))).WithHost("host");

        EveryCall.Start("blocking", client.Invoker);

        Assert.That(_log, Is.EqualTo(["a"]));
        Assert.That(_bottom.LastCall.Host, Is.EqualTo("host"));
    }

    [TestCaseSource(typeof(EveryCall), nameof(EveryCall.Kinds))]
    public void Intercept_HeadersFunction_ReplacesHeaders(string kind)
    {
        Metadata given = [new("given", "1")];
        Metadata replaced = [new("replaced", "2")];
        Metadata? seen = null;

        var invoker = _bottom.Intercept(headers =>
        {
            seen = headers;
            return replaced;
        });
        EveryCall.Start(kind, invoker, new CallOptions(given).WithWaitForReady());

        Assert.That(seen, Is.SameAs(given));
        Assert.That(_bottom.LastCall.Options.Headers, Is.SameAs(replaced));
        Assert.That(_bottom.LastCall.Options.IsWaitForReady);
    }

    [Test]
    public void Intercept_HeadersFunctionOnCallWithoutHeaders_GetsFreshOnes()
    {
        Start(_bottom.Intercept(headers =>
        {
            headers.Add("key", "value");
            return headers;
        }));

        Assert.That(_bottom.LastCall.Options.Headers!.GetValue("key"), Is.EqualTo("value"));
        Assert.That(Metadata.Empty, Is.Empty);
    }

    [Test]
    public void Intercept_HeadersFunction_KeepsTheHost()
    {
        _bottom.Intercept(headers => headers)
            .BlockingUnaryCall(TestMethods.Unary, "host", new CallOptions(), "request");

        Assert.That(_bottom.LastCall.Host, Is.EqualTo("host"));
    }

    [Test]
    public void Intercept_Null_ThrowsArgumentNull()
    {
        CallInvoker none = null!;

        Assert.That(() => none.Intercept(Trace("a")), Errors.NullArgument("invoker"));
        Assert.That(() => none.Intercept(Trace("a"), Trace("b")), Errors.NullArgument("invoker"));
        Assert.That(() => none.Intercept(headers => headers), Errors.NullArgument("invoker"));
        Assert.That(() => _bottom.Intercept((Interceptor)null!), Errors.NullArgument("interceptor"));
        Assert.That(() => _bottom.Intercept((Interceptor[])null!), Errors.NullArgument("interceptors"));
        Assert.That(() => _bottom.Intercept(Trace("a"), null!), Errors.NullArgument("interceptor"));
        Assert.That(() => _bottom.Intercept((Func<Metadata, Metadata>)null!), Errors.NullArgument("interceptor"));
    }

    [Test]
    public void Intercept_NullChannel_ThrowsNullReference()
    {
        ChannelBase none = null!;

        Assert.That(() => none.Intercept(Trace("a")), Throws.TypeOf<NullReferenceException>());
    }

    [Test]
    public void DebuggerDisplay_OfInterceptedInvoker_ShowsTheOneUnderneath()
    {
        Assert.That(Debugging.Display(_bottom.Intercept(Trace("a"))), Is.EqualTo(_bottom.ToString()));
    }

    private static void Start(CallInvoker invoker) => EveryCall.Start("blocking", invoker);

    private TracingInterceptor Trace(string name) => new(name, _log);
}
