using System.Diagnostics;
using Grpc.Core;
using RpcOverShm.Calls;

namespace RpcOverShm.Tests.Calls;

/// <summary>Observed calls of a program whose handlers of <see cref="Activity.CurrentChanged"/> throw.</summary>
public class CallObservationTests
{
    [Test]
    public void Leave_WithAHandlerThatThrows_RestoresTheSpan()
    {
        using var outer = new Activity("outer");
        outer.Start();
        var observation = CallObservation.OfServer("/service/method", "shm:///s", Metadata.Empty);
        using var inner = new Activity("inner");
        inner.Start();

        EventHandler<ActivityChangedEventArgs> throwing = (_, _) => throw new InvalidOperationException("user code");
        Activity.CurrentChanged += throwing;
        try
        {
            observation.Leave();
        }
        finally
        {
            Activity.CurrentChanged -= throwing;
        }

        Assert.That(Activity.Current, Is.SameAs(outer));
        observation.End(StatusCode.OK);
    }
}
