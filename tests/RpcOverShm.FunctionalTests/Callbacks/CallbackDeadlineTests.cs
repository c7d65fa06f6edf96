namespace RpcOverShm.FunctionalTests.Callbacks;

/// <summary>
/// The deadline of a callback is its own: it ends the callback alone, and is that of the call only if the method passes
/// it on.
/// </summary>
internal sealed class CallbackDeadlineTests : CallbackFixture
{
    // A callback may end before it reaches its method on a busy machine; what is tested is the one that reaches it.
    private static CallOptions Soon => new(deadline: DateTime.UtcNow.AddMilliseconds(200));

    // The method of the server blocks as its caller does. That of the client may keep the caller's thread.
    [Test]
    public async Task Callback_WhoseDeadlinePasses_IsDeadlineExceeded_AndItsCallGoesOn(
        [Values] bool isCallerBlocking, [Values] bool isCallbackBlocking)
    {
        StatusCode? seen = null;
        bool hasBegun = false;
        var cancelled = new TaskCompletionSource(TaskCreationOptions.RunContinuationsAsynchronously);
        (_, ShmChannel channel) = await StartAsync(
            new Script
            {
                Unary = async (request, context) =>
                {
                    ScriptClient back = Back(context);
                    do
                    {
                        RpcException failure = isCallerBlocking
                            ? Assert.Catch<RpcException>(() => back.Unary(request, Soon))!
                            : await FailureOf(back.UnaryAsync(request, Soon));
                        seen = failure.StatusCode;
                    }
                    while (!Volatile.Read(ref hasBegun));

                    await cancelled.Task;
                    return request;
                },
            },
            new Script
            {
                Unary = async (request, context) =>
                {
                    Volatile.Write(ref hasBegun, value: true);
                    context.CancellationToken.Register(() => cancelled.TrySetResult());
                    if (isCallbackBlocking)
                    {
                        cancelled.Task.Wait(Timeouts.Wait);
                    }

                    await cancelled.Task;
                    return request;
                },
            });

        ScriptClient client = To(channel);
        Payload answer = await (isCallerBlocking
            ? Timeouts.OnThread(() => client.Unary(Payloads.Of("on")))
            : client.UnaryAsync(Payloads.Of("on")).ResponseAsync).Bounded();

        Assert.That((answer.Text(), seen), Is.EqualTo(("on", StatusCode.DeadlineExceeded)));
    }

    [Test]
    public async Task Callback_HasTheDeadlineOfItsCall_OnlyIfTheMethodPassesItOn(
        [Values] bool isCallerBlocking, [Values] bool isPassedOn)
    {
        var options = new CallOptions(deadline: DateTime.UtcNow.AddMinutes(5));
        DateTime? seen = null;
        (_, ShmChannel channel) = await StartAsync(
            new Script
            {
                Unary = async (request, context) => await Back(context).UnaryAsync(
                    request, new CallOptions(deadline: isPassedOn ? context.Deadline : null)),
            },
            new Script
            {
                Unary = (request, context) =>
                {
                    seen = context.Deadline;
                    return Task.FromResult(request);
                },
            });

        ScriptClient client = To(channel);
        await (isCallerBlocking
            ? Timeouts.OnThread(() => client.Unary(Payloads.Empty, options))
            : client.UnaryAsync(Payloads.Empty, options).ResponseAsync).Bounded();

        Assert.That(
            seen,
            Is.EqualTo(isPassedOn ? options.Deadline : DateTime.MaxValue).Within(TimeSpan.FromMinutes(1)));
    }

    [Test]
    public async Task Callback_WithTheDeadlineOfItsCall_EndsWithIt([Values] bool isCallerBlocking)
    {
        bool hasBegun = false;
        var seen = new TaskCompletionSource<StatusCode>();
        var cancelled = new TaskCompletionSource();
        (_, ShmChannel channel) = await StartAsync(
            new Script
            {
                Unary = async (request, context) =>
                {
                    var options = new CallOptions(deadline: context.Deadline);
                    seen.TrySetResult((await FailureOf(Back(context).UnaryAsync(request, options))).StatusCode);

                    // Both deadlines pass at the same time. An answer now could come before that of the call.
                    await Task.Delay(Timeout.Infinite, context.CancellationToken)
                        .ConfigureAwait(ConfigureAwaitOptions.SuppressThrowing);
                    return request;
                },
            },
            new Script
            {
                Unary = async (request, context) =>
                {
                    Volatile.Write(ref hasBegun, value: true);
                    context.CancellationToken.Register(() => cancelled.TrySetResult());
                    await cancelled.Task;
                    return request;
                },
            });
        await channel.ConnectAsync();

        ScriptClient client = To(channel);
        RpcException failure;
        do
        {
            failure = isCallerBlocking
                ? await CallFailure.OfBlocking(() => client.Unary(Payloads.Empty, Soon))
                : await FailureOf(client.UnaryAsync(Payloads.Empty, Soon));
        }
        while (!Volatile.Read(ref hasBegun));

        Assert.That(failure.StatusCode, Is.EqualTo(StatusCode.DeadlineExceeded));
        Assert.That(await seen.Task.Bounded(), Is.EqualTo(StatusCode.DeadlineExceeded));
        await cancelled.Task.Bounded();
    }
}
