using System.Collections.Concurrent;

namespace RpcOverShm.FunctionalTests.Callbacks;

/// <summary>
/// The deadline of a callback is its own: it ends the callback alone, and is that of the call only if the method passes
/// it on.
/// </summary>
[Parallelizable]
internal sealed class CallbackDeadlineTests : CallbackFixture
{
    // On a busy machine a callback may end before it reaches its method. Then there is another one.
    private const int MostRounds = 100;

    private static CallOptions Soon => new(deadline: DateTime.UtcNow.AddMilliseconds(200));

    // The method of the server blocks as its caller does. That of the client may keep the caller's thread.
    [Test]
    public async Task Callback_WhoseDeadlinePasses_IsDeadlineExceeded_AndItsCallGoesOn(
        [Values] bool isCallerBlocking, [Values] bool isCallbackBlocking)
    {
        var seen = new ConcurrentQueue<Status>();
        bool hasBegun = false;
        var cancelled = new TaskCompletionSource(TaskCreationOptions.RunContinuationsAsynchronously);
        (_, ShmChannel channel) = await StartAsync(
            new Script
            {
                Unary = async (request, context) =>
                {
                    ScriptClient back = Back(context);
                    for (int round = 0; round < MostRounds && !Volatile.Read(ref hasBegun); round++)
                    {
                        RpcException failure = isCallerBlocking
                            ? Assert.Catch<RpcException>(() => back.Unary(request, Soon))!
                            : await FailureOf(back.UnaryAsync(request, Soon));
                        seen.Enqueue(failure.Status);
                    }

                    await cancelled.Task.Bounded();
                    return request;
                },
            },
            new Script
            {
                Unary = async (request, context) =>
                {
                    Volatile.Write(ref hasBegun, value: true);
                    if (isCallbackBlocking)
                    {
                        context.CancellationToken.WaitHandle.WaitOne(Timeouts.Wait);
                    }

                    await EndAsync(context);
                    cancelled.TrySetResult();
                    return request;
                },
            });

        ScriptClient client = To(channel);
        Payload answer = await (isCallerBlocking
            ? Timeouts.OnThread(() => client.Unary(Payloads.Of("on")))
            : client.UnaryAsync(Payloads.Of("on")).ResponseAsync).Bounded();

        string detail = $"The callback has waited for the client, process {Environment.ProcessId}, to end it.";
        Assert.That(answer.Text(), Is.EqualTo("on"));
        Assert.That(seen, Is.Not.Empty.And.All.EqualTo(new Status(StatusCode.DeadlineExceeded, detail)));
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
        var seen = new ConcurrentQueue<StatusCode>();
        var cancelled = new TaskCompletionSource();
        (_, ShmChannel channel) = await StartAsync(
            new Script
            {
                Unary = async (request, context) =>
                {
                    var options = new CallOptions(deadline: context.Deadline);
                    seen.Enqueue((await FailureOf(Back(context).UnaryAsync(request, options))).StatusCode);

                    // Both deadlines pass at the same time. An answer now could come before that of the call.
                    await EndAsync(context);
                    return request;
                },
            },
            new Script
            {
                Unary = async (request, context) =>
                {
                    Volatile.Write(ref hasBegun, value: true);
                    await EndAsync(context);
                    cancelled.TrySetResult();
                    return request;
                },
            });
        await channel.ConnectAsync();

        ScriptClient client = To(channel);
        for (int round = 0; round < MostRounds && !Volatile.Read(ref hasBegun); round++)
        {
            RpcException failure = isCallerBlocking
                ? await CallFailure.OfBlocking(() => client.Unary(Payloads.Empty, Soon))
                : await FailureOf(client.UnaryAsync(Payloads.Empty, Soon));
            Assert.That(failure.StatusCode, Is.EqualTo(StatusCode.DeadlineExceeded));
        }

        await cancelled.Task.Bounded();
        await Timeouts.Eventually(() => !seen.IsEmpty);
        Assert.That(seen, Is.Not.Empty.And.All.EqualTo(StatusCode.DeadlineExceeded));
    }

    private static async Task EndAsync(ServerCallContext context) =>
        await Task.Delay(Timeout.Infinite, context.CancellationToken)
            .ConfigureAwait(ConfigureAwaitOptions.SuppressThrowing);
}
