using System.Security.Claims;
using Grpc.Core;
using RpcOverShm.Calls;
using RpcOverShm.Tests.Protobuf;

namespace RpcOverShm.Tests.Servers;

/// <summary>Sessions that unit tests of services make, without a server.</summary>
[TestFixture]
public class MadeSessionTests
{
    private static readonly CallInvoker s_callbacks = new FailingInvoker(new FormatException());

    [Test]
    public void Session_IsAsItWasMade()
    {
        ClaimsPrincipal user = UserWith(new Claim(ShmClaimTypes.ProcessId, "26001"));
        var session = new ShmSession(user, s_callbacks, id: 3);
        session.Items["key"] = "item";

        Assert.That((session.Id, session.ProcessId), Is.EqualTo((3, 26001)));
        Assert.That(session.User, Is.SameAs(user));
        Assert.That(session.Items["key"], Is.EqualTo("item"));
        Assert.That(session.OffersCallbacks, Is.True);
        Assert.That(session.CreateCallInvoker(), Is.SameAs(s_callbacks));
        Assert.That(session.CreateCallInvoker(new ShmRawCodec("raw")), Is.SameAs(s_callbacks));
        Assert.That(session.CreateOneWayInvoker(), Is.SameAs(s_callbacks));
    }

    [Test]
    public void Session_EndsWithTheTokenOfTheTest()
    {
        using var closed = new CancellationTokenSource();
        var session = new ShmSession(UserWith(), s_callbacks, closed: closed.Token);
        bool wasOpen = session.OffersCallbacks && !session.Closed.IsCancellationRequested;

        closed.Cancel();

        Assert.That(wasOpen, Is.True);
        Assert.That((session.OffersCallbacks, session.Closed.IsCancellationRequested), Is.EqualTo((false, true)));
    }

    [Test]
    public void Session_WithoutCallbacks_IsThatOfAClientWithoutServices()
    {
        var session = new ShmSession(UserWith(new Claim(ShmClaimTypes.ProcessId, "none")));

        Assert.That((session.Id, session.ProcessId, session.OffersCallbacks), Is.EqualTo((1, 0, false)));
        foreach (CallInvoker invoker in (CallInvoker[])[session.CreateCallInvoker(), session.CreateOneWayInvoker()])
        {
            RpcException failure = Assert.Throws<RpcException>(() => new ScriptClient(invoker).Unary(Payloads.Empty))!;
            Assert.That(failure.Status, Is.EqualTo(StatusMapping.NoCallbacks));
        }
    }

    [Test]
    public void SetShmSession_GivesAContextItsSession()
    {
        var context = new TestCallContext();
        var session = new ShmSession(UserWith());
        bool hadOne = context.TryGetShmSession(out _);

        context.SetShmSession(session);

        Assert.That(hadOne, Is.False);
        Assert.That(context.GetShmSession(), Is.SameAs(session));
    }

    [Test]
    public void Null_IsRefused()
    {
        Assert.That(() => new ShmSession(null!), Throws.ArgumentNullException);
        Assert.That(() => new TestCallContext().SetShmSession(null!), Throws.ArgumentNullException);
        Assert.That(
            () => ShmServerCallContextExtensions.SetShmSession(null!, new ShmSession(UserWith())),
            Throws.ArgumentNullException);
    }

    private static ClaimsPrincipal UserWith(params Claim[] claims) => new(new ClaimsIdentity(claims, "test"));
}
