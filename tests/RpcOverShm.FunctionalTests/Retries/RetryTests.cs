namespace RpcOverShm.FunctionalTests.Retries;

/// <summary>Retry policies and their limits: gRFC A6.</summary>
[EveryRig]
[FixtureLifeCycle(LifeCycle.InstancePerTestCase)]
[Parallelizable]
internal sealed class RetryTests(RigKind kind) : RigFixture(kind)
{
    private const string PreviousAttemptsHeader = "grpc-previous-rpc-attempts";
    private const string Pushback = "grpc-retry-pushback-ms";

    private static readonly RigRetries s_three = new(3, StatusCode.Unavailable);

    // The attempts of a call in its back-off, and of the other call that proves it.
    private static readonly string[] s_onceAndTheOtherTwice = ["", "", "1"];

    private readonly List<string> _attempts = [];
    private Metadata? _lastHeaders;
    private Func<int, RpcException?> _failureOf = attempt => attempt < 3 ? Unavailable() : null;

    [Test]
    public async Task Unary_FailingTwice_SucceedsTheThirdTime([Values] bool isBlocking)
    {
        CallRig rig = await StartFailingAsync(s_three);
        ScriptClient client = rig.Client;

        Payload answer = isBlocking
            ? await Timeouts.OnThread(() => client.Unary(Payloads.Of("again"))).Bounded()
            : await client.UnaryAsync(Payloads.Of("again")).ResponseAsync.Bounded();

        Assert.That(answer.Text(), Is.EqualTo("again"));
        Assert.That(_attempts, Is.EqualTo(new[] { "", "1", "2" }));
    }

    [Test]
    public async Task EveryShape_FailingTwice_SucceedsTheThirdTime_WithAllItsRequests()
    {
        CallRig rig = await StartFailingAsync(s_three);

        List<Payload> streamed = await rig.Client.ServerStream(Payloads.Of("again"))
            .ResponseStream.ToListAsync().Bounded();
        _attempts.Clear();
        using AsyncClientStreamingCall<Payload, Payload> clientStream = rig.Client.ClientStream();
        await clientStream.RequestStream.WriteAsync(Payloads.Of("a")).Bounded();
        await clientStream.RequestStream.WriteAsync(Payloads.Of("b")).Bounded();
        await clientStream.RequestStream.CompleteAsync().Bounded();
        Payload collected = await clientStream.ResponseAsync.Bounded();
        _attempts.Clear();
        using AsyncDuplexStreamingCall<Payload, Payload> duplex = rig.Client.Duplex();
        await duplex.RequestStream.WriteAsync(Payloads.Of("c")).Bounded();
        await duplex.RequestStream.WriteAsync(Payloads.Of("d")).Bounded();
        await duplex.RequestStream.CompleteAsync().Bounded();
        List<Payload> echoed = await duplex.ResponseStream.ToListAsync().Bounded();

        Assert.That(streamed.Single().Text(), Is.EqualTo("again"));
        Assert.That(collected.Text(), Is.EqualTo("ab"));
        Assert.That(echoed.Select(one => one.Text()), Is.EqualTo(new[] { "c", "d" }));
        Assert.That(duplex.GetStatus().StatusCode, Is.EqualTo(StatusCode.OK));
        Assert.That(_attempts, Has.Count.EqualTo(3));
    }

    // As grpc-dotnet's sample Retrier prints it.
    [TestCase(1, null)]
    [TestCase(2, "1")]
    [TestCase(3, "2")]
    [NotOn(RigKind.GrpcCore, "It tells the server only.")]
    public async Task Headers_OfEveryShape_TellTheClientOfPreviousAttempts(int attempts, string? told)
    {
        CallRig rig = await StartFailingAsync(s_three with { Backoff = TimeSpan.FromMilliseconds(1) });
        foreach (MethodType shape in AnyCall.Shapes)
        {
            _attempts.Clear();
            _failureOf = attempt => attempt < attempts ? Unavailable() : null;
            (AnyCall call, IClientStreamWriter<Payload>? requests) = AnyCall.Start(
                rig.Invoker, AnyCall.MethodOf(shape), Payloads.Of("again"));
            using (call)
            {
                await (requests?.CompleteAsync() ?? Task.CompletedTask).Bounded();
                Metadata headers = await call.Headers.Bounded();
                await call.Outcome.Bounded();

                Assert.That(
                    headers.Where(one => one.Key == PreviousAttemptsHeader).Select(one => one.Value),
                    Is.EqualTo(told is null ? (string[])[] : [told]),
                    $"{shape}");
                Assert.That(call.Trailers.GetValue(PreviousAttemptsHeader), Is.Null);
            }
        }
    }

    [Test]
    public async Task Headers_OfACallThatFailsInTheEnd_TellOfPreviousAttempts()
    {
        _failureOf = _ => Unavailable();
        CallRig rig = await StartFailingAsync(s_three with { Backoff = TimeSpan.FromMilliseconds(1) });

        using AsyncUnaryCall<Payload> call = rig.Client.UnaryAsync(Payloads.Empty);
        await FailureOf(call);
        Metadata headers = await call.ResponseHeadersAsync.Bounded();

        Assert.That(headers.GetValue(PreviousAttemptsHeader), Is.EqualTo(IsDotNet ? "2" : null));
    }

    [Test]
    public async Task Failure_OfTheLastAttempt_IsTheCalls()
    {
        _failureOf = attempt => Unavailable($"attempt {attempt}");
        CallRig rig = await StartFailingAsync(s_three);

        AsyncUnaryCall<Payload> call = rig.Client.UnaryAsync(Payloads.Empty);
        RpcException failure = await FailureOf(call);

        Assert.That(failure.Status.Plain(), Is.EqualTo(new Status(StatusCode.Unavailable, "attempt 3")));
        Assert.That(call.GetStatus().Plain(), Is.EqualTo(failure.Status.Plain()));
        Assert.That(call.GetTrailers().GetValue("which"), Is.EqualTo("trailer"));
        Assert.That(_attempts, Has.Count.EqualTo(3));
    }

    [Test]
    public async Task Failure_OfAnotherCode_IsFinal()
    {
        _failureOf = _ => new RpcException(new Status(StatusCode.NotFound, "final"));
        CallRig rig = await StartFailingAsync(s_three);

        RpcException failure = await FailureOf(rig.Client.UnaryAsync(Payloads.Empty));

        Assert.That(failure.StatusCode, Is.EqualTo(StatusCode.NotFound));
        Assert.That(_attempts, Has.Count.EqualTo(1));
    }

    [Test]
    public async Task Failure_AfterHeaders_IsFinal()
    {
        CallRig rig = await StartAsync(
            new Script
            {
                Unary = async (_, context) =>
                {
                    Note(context);
                    await context.WriteResponseHeadersAsync(new Metadata { { "answered", "yes" } });
                    throw Unavailable();
                },
            },
            new RigOptions { Retries = s_three });

        AsyncUnaryCall<Payload> call = rig.Client.UnaryAsync(Payloads.Empty);
        Metadata headers = await call.ResponseHeadersAsync.Bounded();
        RpcException failure = await FailureOf(call);

        Assert.That(headers.GetValue("answered"), Is.EqualTo("yes"));
        Assert.That(failure.StatusCode, Is.EqualTo(StatusCode.Unavailable));
        Assert.That(_attempts, Has.Count.EqualTo(1));
    }

    [Test]
    public async Task Failure_AfterAMessage_IsFinal()
    {
        CallRig rig = await StartAsync(
            new Script
            {
                ServerStream = async (request, responses, context) =>
                {
                    Note(context);
                    await responses.WriteAsync(request);
                    throw Unavailable();
                },
            },
            new RigOptions { Retries = s_three });

        RpcException failure = await FailureOf(
            rig.Client.ServerStream(Payloads.Empty).ResponseStream.ToListAsync());

        Assert.That(failure.StatusCode, Is.EqualTo(StatusCode.Unavailable));
        Assert.That(_attempts, Has.Count.EqualTo(1));
    }

    [TestCase("-1", 1)]
    [TestCase("soon", 1)]
    [TestCase("0", 3)]
    public async Task Pushback_OfTheServer_DecidesWhetherToComeAgain(string pushback, int attempts)
    {
        _failureOf = _ => new RpcException(
            new Status(StatusCode.Unavailable, "busy"), new Metadata { { Pushback, pushback } });
        CallRig rig = await StartFailingAsync(s_three with { Backoff = TimeSpan.FromMilliseconds(1) });

        await FailureOf(rig.Client.UnaryAsync(Payloads.Empty));

        Assert.That(_attempts, Has.Count.EqualTo(attempts));
    }

    [Test]
    public async Task Deadline_InAPause_EndsTheCall()
    {
        CallRig rig = await StartFailingAsync(s_three);
        _failureOf = _ => null;
        await rig.Client.UnaryAsync(Payloads.Empty).ResponseAsync.Bounded();
        _attempts.Clear();
        Task failed = FailOnceForAnHour();

        Task<RpcException> ended = FailureOf(rig.Client.UnaryAsync(
            Payloads.Empty, new CallOptions(deadline: DateTime.UtcNow.AddSeconds(3))));
        await failed.Bounded();
        await BeTriedAgainAsync(rig);
        RpcException failure = await ended;

        Assert.That(failure.StatusCode, Is.EqualTo(StatusCode.DeadlineExceeded));
        Assert.That(_attempts, Is.EqualTo(s_onceAndTheOtherTwice));
    }

    [Test]
    public async Task Cancellation_InAPause_EndsTheCall([Values] bool isByDispose)
    {
        Task failed = FailOnceForAnHour();
        CallRig rig = await StartFailingAsync(s_three);
        using var cancel = new CancellationTokenSource();

        AsyncUnaryCall<Payload> call = rig.Client.UnaryAsync(
            Payloads.Empty, new CallOptions(cancellationToken: cancel.Token));
        await failed.Bounded();
        await BeTriedAgainAsync(rig);
        if (isByDispose)
        {
            call.Dispose();
        }
        else
        {
            await cancel.CancelAsync();
        }

        RpcException failure = await FailureOf(call);
        Assert.That(failure.StatusCode, Is.EqualTo(StatusCode.Cancelled));
        Assert.That(call.GetStatus().StatusCode, Is.EqualTo(StatusCode.Cancelled));
        Assert.That(_attempts, Is.EqualTo(s_onceAndTheOtherTwice));
    }

    [Test]
    public async Task Throttling_WhenMostCallsFail_StopsRetries()
    {
        _failureOf = _ => Unavailable();
        CallRig rig = await StartFailingAsync(s_three with
        {
            MaxTokens = 4,
            Backoff = TimeSpan.FromMilliseconds(1),
        });

        await FailureOf(rig.Client.UnaryAsync(Payloads.Empty));
        int first = _attempts.Count;
        await FailureOf(rig.Client.UnaryAsync(Payloads.Empty));

        // Of four tokens the first failure leaves three and the second two, which is not more than half.
        Assert.That(first, Is.EqualTo(2));
        Assert.That(_attempts, Has.Count.EqualTo(3));
    }

    [Test]
    [NotOn(RigKind.GrpcDotNet, "Every attempt takes the headers anew from the caller's collection.")]
    public async Task Headers_ThatTheCallerChangesLater_AreThoseOfTheBeginningForEveryAttempt()
    {
        var headers = new Metadata { { "which", "mine" } };
        _failureOf = attempt =>
        {
            headers.Add("later", "too late");
            return attempt < 3 ? Unavailable() : null;
        };
        CallRig rig = await StartFailingAsync(s_three);
        AsyncUnaryCall<Payload> call = rig.Client.UnaryAsync(Payloads.Empty, new CallOptions(headers));

        await call.ResponseAsync.Bounded();

        Assert.That(_lastHeaders!.GetValue("which"), Is.EqualTo("mine"));
        Assert.That(_lastHeaders.GetValue("later"), Is.Null);
        Assert.That(headers, Has.Count.EqualTo(4));
    }

    private static RpcException Unavailable(string detail = "not now") => new(
        new Status(StatusCode.Unavailable, detail), new Metadata { { "which", "trailer" } });

    /// <summary>
    /// Fails the next attempt with a pushback of an hour and the one after it with a pushback of zero. The task
    /// completes with the first failure.
    /// </summary>
    private Task FailOnceForAnHour()
    {
        var failed = new TaskCompletionSource(TaskCreationOptions.RunContinuationsAsynchronously);
        _failureOf = attempt =>
        {
            failed.TrySetResult();
            return attempt > 2
                ? null
                : new RpcException(
                    new Status(StatusCode.Unavailable, "busy"),
                    new Metadata { { Pushback, attempt == 1 ? "3600000" : "0" } });
        };
        return failed.Task;
    }

    /// <summary>
    /// Makes another call, which fails after the first one and finishes its own back-off: so the first is in its own.
    /// </summary>
    private static async Task BeTriedAgainAsync(CallRig rig)
    {
        Payload answer = await rig.Client.UnaryAsync(Payloads.Of("other")).ResponseAsync.Bounded();
        Assert.That(answer.Text(), Is.EqualTo("other"));
    }

    private Task<CallRig> StartFailingAsync(RigRetries retries) => StartAsync(
        new Script
        {
            Unary = (request, context) =>
            {
                NoteAndFail(context);
                return Task.FromResult(request);
            },
            ServerStream = (request, responses, context) =>
            {
                NoteAndFail(context);
                return responses.WriteAsync(request);
            },
            ClientStream = async (requests, context) =>
            {
                List<Payload> all = await FailOrReadAsync(requests, context);
                return Payloads.Of(string.Concat(all.Select(one => one.Text())));
            },
            Duplex = async (requests, responses, context) =>
            {
                // Not before the half-close: grpc-dotnet drops its copies of the requests at an answer, and then a
                // write that is on its way throws ArgumentOutOfRangeException.
                foreach (Payload request in await FailOrReadAsync(requests, context))
                {
                    await responses.WriteAsync(request);
                }
            },
        },
        new RigOptions { Retries = retries });

    // With gRPC's own clients a failure meets no write and no half-close. The C core does not retry about one in a
    // hundred that do. In grpc-dotnet CompleteAsync throws the failure if the next attempt is answered before it looks.
    private async Task<List<Payload>> FailOrReadAsync(
        IAsyncStreamReader<Payload> requests, ServerCallContext context)
    {
        bool isOurs = Kind == RigKind.Shm;
        List<Payload> read = isOurs ? [] : await requests.ToListAsync();
        NoteAndFail(context);
        return isOurs ? await requests.ToListAsync() : read;
    }

    private void NoteAndFail(ServerCallContext context)
    {
        if (_failureOf(Note(context)) is { } failure)
        {
            throw failure;
        }
    }

    private int Note(ServerCallContext context)
    {
        lock (_attempts)
        {
            _lastHeaders = context.RequestHeaders;
            _attempts.Add(context.RequestHeaders.GetValue(PreviousAttemptsHeader) ?? "");
            return _attempts.Count;
        }
    }
}
