namespace RpcOverShm.FunctionalTests.Deadlines;

[EveryRig]
[Parallelizable]
internal sealed class ClientDeadlineTests(RigKind kind) : RigFixture(kind)
{
    private static readonly TimeSpan s_short = TimeSpan.FromMilliseconds(300);

    [TestCaseSource(typeof(AnyCall), nameof(AnyCall.Shapes))]
    [Item("C3")]
    public async Task Deadline_DuringTheCall_EndsItAndNotBefore(MethodType shape)
    {
        var held = new HeldMethods();
        CallRig rig = await StartAsync(held.Script);
        DateTime deadline = DateTime.UtcNow + s_short;

        (AnyCall call, IClientStreamWriter<Payload>? requests) = AnyCall.Start(
            rig.Invoker, AnyCall.MethodOf(shape), Payloads.Empty, new CallOptions(deadline: deadline));
        RpcException failure = await FailureOf(call.Outcome);
        RpcException write = requests is null ? failure : await FailureOf(requests.WriteAsync(Payloads.Empty));

        AssertNotEarly(deadline);
        Assert.That(failure.StatusCode, Is.EqualTo(StatusCode.DeadlineExceeded));
        Assert.That(write.StatusCode, Is.EqualTo(StatusCode.DeadlineExceeded));
        Assert.That(call.Status.StatusCode, Is.EqualTo(StatusCode.DeadlineExceeded));
    }

    [Test]
    public async Task Deadline_AfterAMessage_EndsTheStream()
    {
        CallRig rig = await StartAsync(new Script
        {
            ServerStream = async (request, responses, context) =>
            {
                await responses.WriteAsync(request);
                await Task.Delay(Timeout.Infinite, context.CancellationToken);
            },
        });
        await rig.Client.UnaryAsync(Payloads.Of("connected")).ResponseAsync.Bounded();

        using AsyncServerStreamingCall<Payload> call = rig.Client.ServerStream(
            Payloads.Empty, new CallOptions(deadline: DateTime.UtcNow + s_short));
        RpcException failure = await FailureOf(call.ResponseStream.ToListAsync());

        Assert.That(failure.StatusCode, Is.EqualTo(StatusCode.DeadlineExceeded));
        Assert.That(call.GetStatus().StatusCode, Is.EqualTo(StatusCode.DeadlineExceeded));
    }

    [Test]
    public async Task Deadlines_OfManyCalls_EndEachByItself()
    {
        CallRig rig = await StartAsync(new HeldMethods().Script);
        DateTime now = DateTime.UtcNow;

        RpcException[] failures = await Task.WhenAll(Enumerable.Range(0, 200).Select(i =>
            FailureOf(rig.Client.UnaryAsync(Payloads.Empty, new CallOptions(deadline: now.AddMilliseconds(100 + i))))));

        Assert.That(failures.Select(failure => failure.StatusCode), Is.All.EqualTo(StatusCode.DeadlineExceeded));
    }

    [Test]
    [Item("C3")]
    public async Task Deadline_DuringABlockingCall_EndsItAndNotBefore()
    {
        var held = new HeldMethods();
        CallRig rig = await StartAsync(held.Script);
        DateTime deadline = DateTime.UtcNow + s_short;

        RpcException failure = await CallFailure.OfBlocking(
            () => rig.Client.Unary(Payloads.Empty, new CallOptions(deadline: deadline)));

        AssertNotEarly(deadline);
        Assert.That(failure.StatusCode, Is.EqualTo(StatusCode.DeadlineExceeded));
    }

    [Test]
    [Item("C3")]
    public async Task CancelledByTheServerAfterTheDeadline_IsDeadlineExceeded()
    {
        const int Rounds = 20;
        CallRig rig = await StartAsync(new Script { Unary = CancelAtTheDeadlineAsync });
        var codes = new List<StatusCode>();

        for (int i = 0; i < Rounds; i++)
        {
            var options = new CallOptions(deadline: DateTime.UtcNow.AddMilliseconds(100 + i));
            codes.Add((await FailureOf(rig.Client.UnaryAsync(Payloads.Empty, options))).StatusCode);
        }

        // The other rigs sometimes report the server's status.
        Assert.That(
            codes,
            IsShm
                ? Is.All.EqualTo(StatusCode.DeadlineExceeded)
                : Is.All.AnyOf(StatusCode.DeadlineExceeded, StatusCode.Cancelled));
    }

    // Races with the timers of both sides, and often ends the call first.
    private static async Task<Payload> CancelAtTheDeadlineAsync(Payload request, ServerCallContext context)
    {
        await Task.Yield();
        while (DateTime.UtcNow <= context.Deadline)
        {
            Thread.SpinWait(10);
        }

        throw new RpcException(new Status(StatusCode.Cancelled, "by the method"));
    }

    // The test and the timer use different clocks, and Grpc.Core's counts whole milliseconds.
    private static void AssertNotEarly(DateTime deadline) =>
        Assert.That(DateTime.UtcNow, Is.GreaterThan(deadline - TimeSpan.FromMilliseconds(20)));
}
