using Grpc.Core;

namespace RpcOverShm.Soak;

/// <summary>
/// Calls of eight clients with eight callers each, all of which make the server call its client back: in all scheduling
/// modes, and with thread pools without a free thread. Calls block or are awaited, and so do the callbacks within their
/// methods, some of which have streams. Each storm lasts for 5 s; <see cref="SoakSettings"/> has the variable.
/// </summary>
/// <remarks>
/// An awaited call and its callback need a thread of their client's pool in mode ThreadPool, and may need one in the
/// others. While other calls block all of that pool, they wait; if they block the server's pool too, for ever. So with
/// a blocked pool all calls of the client block. The server's methods may await or block in either case: each thread
/// that blocks in a callback is free again without another one.
/// </remarks>
[Category("Soak")]
[NonParallelizable]
[TestFixture(ShmSchedulingMode.Adaptive)]
[TestFixture(ShmSchedulingMode.Inline)]
[TestFixture(ShmSchedulingMode.ThreadPool)]
internal sealed class CallbackStormTests(ShmSchedulingMode mode)
{
    // Beyond the time limit of a command to a client whose caller is stuck. The storm itself renews it.
    private static readonly TimeSpan s_hang = TimeSpan.FromMinutes(5);

    private static readonly SoakShape[] s_callbackShapes =
    [
        SoakShape.Blocking, SoakShape.Unary, SoakShape.ServerStream, SoakShape.ClientStream, SoakShape.Duplex,
    ];

    [Test]
    public async Task Calls_ThatAllCallBack_AreAnsweredOnce_AndTheirClientRunsEachCallbackOnce(
        [Values] StormPools pools)
    {
        HangWatchdog.Begin(nameof(CallbackStormTests), s_hang);
        await using var run = new StormRun(SoakSettings.ForStorm(mode, pools));
        string report;
        try
        {
            await run.RunAsync();
        }
        finally
        {
            report = run.Report();
            TestContext.Out.WriteLine(report);
            HangWatchdog.End(nameof(CallbackStormTests));
        }

        Assert.That(run.Findings.Count, Is.Zero, report);
        Assert.That(run.Book.Counts.Keys.Select(key => key.Status), Is.All.EqualTo(StatusCode.OK), report);
        Assert.That(
            run.Book.CountOf(isCallback: true),
            Is.EqualTo(run.Book.CountOf(isCallback: false)).And.Positive,
            report);
        SoakShape[] shapes = pools == StormPools.Blocked ? [SoakShape.Blocking] : [SoakShape.Blocking, SoakShape.Unary];
        Assert.That(ShapesOf(run, isCallback: false), Is.EquivalentTo(shapes), report);
        Assert.That(ShapesOf(run, isCallback: true), Is.EquivalentTo(s_callbackShapes), report);
        if (pools == StormPools.Blocked)
        {
            Assert.That(run.ClientsWithoutPool, Has.Exactly(8).Positive, report);
        }

        if (pools != StormPools.Free)
        {
            Assert.That(run.ServerWithoutPool, Is.Positive, report);
        }
    }

    private static IEnumerable<SoakShape> ShapesOf(StormRun run, bool isCallback) =>
        run.Book.Counts.Keys.Where(key => key.IsCallback == isCallback).Select(key => key.Shape);
}
