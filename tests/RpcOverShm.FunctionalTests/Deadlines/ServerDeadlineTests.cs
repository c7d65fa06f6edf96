namespace RpcOverShm.FunctionalTests.Deadlines;

/// <summary>Deadlines at the server; <see cref="Headers.ServerFrameTests"/> covers their frames.</summary>
[EveryRig]
[Parallelizable]
internal sealed class ServerDeadlineTests(RigKind kind) : ItemFixture(kind)
{
    // Long enough for a call on an open connection to reach its method first, even on a busy machine.
    private static readonly TimeSpan s_short = TimeSpan.FromSeconds(2);

    private static DateTime Soon => DateTime.UtcNow + s_short;

    [Test]
    [Item("S14")]
    [Item("X_Deadline")]
    public async Task Method_SeesTheDeadlineAndItsTokenFires()
    {
        var seen = new TaskCompletionSource<DateTime>();
        var fired = new TaskCompletionSource();
        CallRig rig = await UseAsync(new Script
        {
            Unary = (_, context) =>
            {
                seen.SetResult(context.Deadline);
                context.CancellationToken.Register(fired.SetResult);
                return new TaskCompletionSource<Payload>().Task;
            },
        });
        await ConnectAsync(rig);

        DateTime deadline = Soon;
        RpcException failure = await FailureOf(
            rig.Client.UnaryAsync(Payloads.Empty, new CallOptions(deadline: deadline)));
        await fired.Task.Bounded();

        // The time left is sent, and the server computes the deadline from it on arrival.
        Assert.That(failure.StatusCode, Is.EqualTo(StatusCode.DeadlineExceeded));
        Assert.That((await seen.Task - deadline).Duration(), Is.LessThan(TimeSpan.FromSeconds(10)));
        Assert.That((await seen.Task).Kind, Is.EqualTo(DateTimeKind.Utc));
    }

    [Test]
    [Item("S14")]
    public async Task ResultsAfterTheDeadline_AreDropped([Values] bool isThrowing)
    {
        var mayEnd = new TaskCompletionSource();
        var ended = new TaskCompletionSource();
        CallRig rig = await UseAsync(new Script
        {
            Unary = async (request, context) =>
            {
                await mayEnd.Task;
                context.ResponseTrailers.Add("late", "yes");
                ended.SetResult();
                return isThrowing ? throw new RpcException(new Status(StatusCode.DataLoss, "late")) : request;
            },
        });
        await ConnectAsync(rig);

        using AsyncUnaryCall<Payload> call = rig.Client.UnaryAsync(Payloads.Empty, new CallOptions(deadline: Soon));
        RpcException failure = await FailureOf(call);
        mayEnd.SetResult();
        await ended.Task.Bounded();

        Assert.That(failure.StatusCode, Is.EqualTo(StatusCode.DeadlineExceeded));
        Assert.That(failure.Trailers.GetValue("late"), Is.Null);
        Assert.That(call.GetStatus().StatusCode, Is.EqualTo(StatusCode.DeadlineExceeded));
    }

    [Test]
    [Item("S14")]
    public async Task WritesAfterTheDeadline_Throw()
    {
        var result = new TaskCompletionSource<Exception?>();
        CallRig rig = await UseAsync(new Script
        {
            ServerStream = async (request, responses, context) =>
            {
                var fired = new TaskCompletionSource(TaskCreationOptions.RunContinuationsAsynchronously);
                context.CancellationToken.Register(fired.SetResult);
                await fired.Task;
                result.SetResult(await CatchAsync(() => responses.WriteAsync(request)));
            },
        });
        await ConnectAsync(rig);

        using AsyncServerStreamingCall<Payload> call = rig.Client.ServerStream(
            Payloads.Empty, new CallOptions(deadline: Soon));
        RpcException failure = await FailureOf(call.ResponseStream.ToListAsync());
        Exception? exception = await result.Task.Bounded();

        Assert.That(failure.StatusCode, Is.EqualTo(StatusCode.DeadlineExceeded));
        Assert.That(exception, Is.InstanceOf<InvalidOperationException>());
    }

    [Test]
    [Item("S14")]
    public async Task ErrorOfTheMethodThatCameFirst_Wins()
    {
        CallRig rig = await UseAsync(new Script
        {
            Unary = async (request, context) =>
            {
                if (request.Text() == "hold")
                {
                    await Task.Delay(Timeout.Infinite, context.CancellationToken);
                }

                throw new RpcException(new Status(StatusCode.DataLoss, "first"));
            },
        });
        await ConnectAsync(rig);
        var options = new CallOptions(deadline: Soon);

        using AsyncUnaryCall<Payload> call = rig.Client.UnaryAsync(Payloads.Empty, options);
        RpcException failure = await FailureOf(call);

        // Both calls share the deadline: when it has ended the held call, it has passed for the other one.
        RpcException held = await FailureOf(rig.Client.UnaryAsync(Payloads.Of("hold"), options));
        await ConnectAsync(rig);

        Assert.That(held.StatusCode, Is.EqualTo(StatusCode.DeadlineExceeded));
        Assert.That(failure.Status.Plain(), Is.EqualTo(new Status(StatusCode.DataLoss, "first")));
        Assert.That(call.GetStatus().Plain(), Is.EqualTo(new Status(StatusCode.DataLoss, "first")));
    }

    [Test]
    [Item("S14")]
    public async Task DeadlineNotReached_DoesNotCancelTheMethod()
    {
        CancellationToken token = default;
        CallRig rig = await UseAsync(new Script
        {
            Unary = (request, context) =>
            {
                token = context.CancellationToken;
                return Task.FromResult(request);
            },
        });

        var options = new CallOptions(deadline: DateTime.UtcNow.AddMinutes(5));
        await rig.Client.UnaryAsync(Payloads.Empty, options).ResponseAsync.Bounded();

        Assert.That(token.CanBeCanceled);
        Assert.That(token.IsCancellationRequested, Is.False);
    }

    [Test]
    [Item("O2")]
    [Item("S14")]
    public async Task DeadlineBeyondTheUpperBound_IsFarAway([Values] bool isMaxValue, [Values] bool isBlocking)
    {
        var seen = new TaskCompletionSource<DateTime>();
        CallRig rig = await UseAsync(new Script
        {
            Unary = (request, context) =>
            {
                seen.SetResult(context.Deadline);
                return Task.FromResult(request);
            },
        });
        var options = new CallOptions(deadline: isMaxValue ? DateTime.MaxValue : DateTime.UtcNow.AddYears(500));

        Payload response = isBlocking
            ? await Timeouts.OnThread(() => rig.Client.Unary(Payloads.Of("a"), options)).Bounded()
            : await rig.Client.UnaryAsync(Payloads.Of("a"), options).ResponseAsync.Bounded();

        // Each transport shortens a deadline beyond its range, which is years: 27,000 hours in Grpc.Core.
        Assert.That(response.Text(), Is.EqualTo("a"));
        Assert.That(
            await seen.Task,
            isMaxValue ? Is.EqualTo(DateTime.MaxValue) : Is.GreaterThan(DateTime.UtcNow.AddYears(3)));
    }
}
